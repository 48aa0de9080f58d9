// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/nixlc"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// rawAgent is NIXL as a program without the binding sees it: one agent, one
// registered buffer, and no protection.
type rawAgent struct {
	api     nixlc.API
	agent   nixlc.Agent
	backend nixlc.Backend
	buffer  *memory.Arena
	notifs  nixlc.NotifMap
	closers []func() error
}

// tail is what a buffer has behind the counted bytes, for transfers that are
// not counted.
const tail = 4096

// newRawAgent opens the library that nixl found, so that its environment is
// set and old versions are refused, and then goes round it.
func newRawAgent(name, library, transport string, bytes int64) (_ *rawAgent, err error) {
	r := &rawAgent{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.api, err = nixlc.Load(library); err != nil {
		return r, err
	}
	if r.buffer, err = memory.New(memory.Spec{Len: int(bytes) + tail, HugePages: true, Prefault: true}); err != nil {
		return r, err
	}
	r.closers = append(r.closers, r.buffer.Close)
	var code nixlc.Code
	// The progress thread is what the official API turns on by default.
	cfg := nixlc.AgentConfig{ProgressThread: true, ProgressDelayUS: 100_000, Sync: nixlc.SyncStrict}
	if r.agent, code = r.api.CreateAgent(name, cfg); code != 0 {
		return r, failed("create_configured_agent", code)
	}
	r.closers = append(r.closers, func() error { return failed("destroy_agent", r.api.DestroyAgent(r.agent)) })
	if r.backend, code = r.api.CreateBackend(r.agent, "UCX", backendParams(transport)); code != 0 {
		return r, failed("create_backend", code)
	}
	if code = r.api.RegisterMem(r.agent, r.whole(), r.backend); code != 0 {
		return r, failed("register_mem", code)
	}
	if r.notifs, code = r.api.CreateNotifMap(); code != 0 {
		return r, failed("create_notif_map", code)
	}
	return r, nil
}

// backendParams choose the transport for this agent alone; process-wide
// variables would stay for whatever comes next.
func backendParams(transport string) []string {
	if transport == TCP {
		return []string{"engine_config", "TLS=tcp,NET_DEVICES=lo"}
	}
	return nil
}

func (r *rawAgent) whole() nixlc.List {
	return nixlc.List{Mem: nixlc.MemDRAM, Descs: []nixlc.Desc{{Addr: uint64(r.buffer.Addr()), Len: uint64(r.buffer.Len())}}}
}

// counted is the part of the buffer that the experiment is about.
func (r *rawAgent) counted() []byte { return r.buffer.Bytes()[:r.buffer.Len()-tail] }

// progress gives the library the time it needs for a peer's data.
func (r *rawAgent) progress() error {
	_, code := r.api.TakeNotifs(r.agent, r.notifs)
	return failed("get_notifs", code)
}

func (r *rawAgent) close() error {
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	r.closers = nil
	return errors.Join(errs...)
}

func failed(call string, code nixlc.Code) error {
	if code == nixlc.CodeSuccess {
		return nil
	}
	return fmt.Errorf("hazard: %w", &nixl.Error{Call: call, Subject: "raw", Code: code})
}

// split cuts a range into n descriptors of the same length.
func split(addr, bytes uint64, n int) []nixlc.Desc {
	each := bytes / uint64(n)
	out := make([]nixlc.Desc, n)
	for i := range out {
		out[i] = nixlc.Desc{Addr: addr + uint64(i)*each, Len: each}
	}
	return out
}
