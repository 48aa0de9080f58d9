// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// These calls look at a request and change nothing. They may run beside Post
// and Status, and never beside the end of the handle.
func (r *Request) look(call string, do func(nixlc.API, nixlc.Agent) Code) error {
	a := r.agent
	if err := a.lib.needs(call); err != nil {
		return err
	}
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	r.looking.RLock()
	defer r.looking.RUnlock()
	if r.phase.Load() == phaseReleased {
		return fmt.Errorf("request to %q: %w", r.peer.name, ErrClosed)
	}
	return check(call, r.peer.name, do(a.lib.api, a.handle))
}

// Cost is a plugin's estimate of a transfer.
type Cost struct {
	Duration, Margin time.Duration // the estimate and how wrong it may be
	Method           int           // 0: computed by the backend
}

// EstimateCost asks the plugin how long the transfer will take. UCX answers
// from its own model of the transport, not from measurements.
func (r *Request) EstimateCost() (Cost, error) {
	var c nixlc.Cost
	err := r.look("estimate_xfer_cost", func(api nixlc.API, a nixlc.Agent) (code Code) {
		c, code = api.EstimateCost(a, r.handle)
		return code
	})
	if err != nil {
		return Cost{}, err
	}
	return Cost{
		Duration: time.Duration(c.DurationUS) * time.Microsecond,
		Margin:   time.Duration(c.MarginUS) * time.Microsecond,
		Method:   int(c.Method),
	}, nil
}

// Telemetry is what NIXL measured of the last post of a request.
type Telemetry struct {
	Start       time.Duration // of the library's own clock
	Post        time.Duration // inside the post
	Transfer    time.Duration // from the post to the status that saw the end
	Bytes       uint64
	Descriptors uint64 // after merging
}

// Telemetry returns what was measured; [ErrNoTelemetry] unless the agent was
// created with [AgentConfig.Telemetry].
func (r *Request) Telemetry() (Telemetry, error) {
	var t nixlc.Telemetry
	err := r.look("get_xfer_telemetry", func(api nixlc.API, a nixlc.Agent) (code Code) {
		t, code = api.Telemetry(a, r.handle)
		return code
	})
	if err != nil {
		return Telemetry{}, err
	}
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	return Telemetry{
		Start: us(t.StartUS), Post: us(t.PostUS), Transfer: us(t.TransferUS),
		Bytes: t.Bytes, Descriptors: t.Descriptors,
	}, nil
}

// Backend tells which backend NIXL chose for the request; nil when it is none
// that this agent created.
func (r *Request) Backend() (*Backend, error) {
	a := r.agent
	a.book.Lock()
	backends := append([]*Backend(nil), a.backends...)
	a.book.Unlock()
	handles := make([]nixlc.Backend, len(backends))
	for i, b := range backends {
		handles[i] = b.handle
	}
	which := len(backends)
	err := r.look("query_xfer_backend", func(api nixlc.API, h nixlc.Agent) (code Code) {
		which, code = api.RequestBackend(h, r.handle, handles)
		return code
	})
	if err != nil || which >= len(backends) {
		return nil, err
	}
	return backends[which], nil
}
