// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// The bare loop of raw.c once more, through the Go binding and without any
// ownership: what the binding costs by itself.

// roleBare is the role of this program as one of its two processes.
const roleBare = "bare"

// loop is one of the two, from inside.
type loop struct {
	library   string
	transport string
	lines     chan string
	agent     *nixl.Agent
	plugin    *nixl.Backend
	memory    *memory.Arena
	waiting   atomic.Int32 // lines that came and were not obeyed
}

func playBare(library, transport string) error {
	l := &loop{library: library, transport: transport, lines: make(chan string)}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			l.waiting.Add(1)
			l.lines <- in.Text()
		}
		close(l.lines)
	}()
	for line := range l.lines {
		l.waiting.Add(-1)
		answer, err := l.obey(line)
		if err != nil {
			return err
		}
		fmt.Println("ok", answer)
	}
	return nil
}

func (l *loop) obey(line string) (string, error) {
	order, rest, _ := strings.Cut(line, " ")
	switch order {
	case "init":
		return l.init(rest)
	case "load":
		md, err := hex.DecodeString(rest)
		if err == nil {
			_, err = l.agent.LoadMetadata(md, "")
		}
		return "", err
	case "serve":
		return l.serve()
	case "run":
		return l.run(rest)
	}
	return "", errors.New("unknown order " + line)
}

func (l *loop) init(args string) (string, error) {
	var name string
	var size int
	if _, err := fmt.Sscan(args, &name, &size); err != nil {
		return "", err
	}
	lib, err := nixl.Open(nixl.Options{Library: l.library})
	if err != nil {
		return "", err
	}
	kind, err := nixl.ParseTransport(l.transport)
	if err != nil {
		return "", err
	}
	if l.agent, err = lib.NewAgent(name, nixl.AgentConfig{NoProgressThread: true}); err != nil {
		return "", err
	}
	if l.plugin, err = l.agent.CreateUCX(nixl.UCXConfig{Transport: kind, Device: "lo"}); err != nil {
		return "", err
	}
	if l.memory, err = memory.New(memory.Spec{Len: size, HugePages: true, Prefault: true}); err != nil {
		return "", err
	}
	if _, err = l.agent.Register(nixl.Segment{Addr: uint64(l.memory.Addr()), Len: uint64(size)}, l.plugin); err != nil {
		return "", err
	}
	md, err := l.agent.Metadata()
	return fmt.Sprintf("%d %x", l.memory.Addr(), md), err
}

// serve makes progress until the next line is there.
func (l *loop) serve() (string, error) {
	began := cpu()
	fmt.Println("ok")
	for l.waiting.Load() == 0 {
		for range 32 {
			if _, err := l.agent.Notifications(); err != nil {
				return "", err
			}
		}
	}
	<-l.lines
	l.waiting.Add(-1)
	return fmt.Sprint(int64(cpu() - began)), nil
}

func (l *loop) run(args string) (string, error) {
	var w work
	var peer string
	var remote uint64
	if _, err := fmt.Sscan(args, &w.op, &w.len, &w.count, &w.stride, &peer, &remote, &w.transfers, &w.window); err != nil {
		return "", err
	}
	if w.window != 1 {
		return "", errors.New("one at a time only")
	}
	cfg := nixl.RequestConfig{
		Op: map[string]nixl.Op{"READ": nixl.Read, "WRITE": nixl.Write}[w.op], Peer: peer, Backend: l.plugin,
		LocalMem: nixl.DRAM, RemoteMem: nixl.DRAM,
	}
	for _, b := range w.blocks() {
		cfg.Local = append(cfg.Local, nixl.Segment{Addr: uint64(l.memory.Addr()) + b.Offset, Len: b.Len})
		cfg.Remote = append(cfg.Remote, nixl.Segment{Addr: remote + b.Offset, Len: b.Len})
	}
	times := make([]time.Duration, 0, 2*w.transfers)
	used, start := cpu(), time.Now()
	for range w.transfers {
		took, whole, err := l.transfer(cfg)
		if err != nil {
			return "", err
		}
		times = append(times, took, whole)
	}
	return fmt.Sprint(int64(cpu()-used), int64(time.Since(start)), " ", list(times)), nil
}

// transfer does one: the times are those of raw.c.
func (l *loop) transfer(cfg nixl.RequestConfig) (took, whole time.Duration, err error) {
	began := time.Now()
	r, err := l.agent.NewRequest(cfg)
	if err != nil {
		return 0, 0, err
	}
	posted := time.Now()
	status, err := r.Post()
	for err == nil && status == nixl.StatusInProgress {
		status, err = r.Status()
	}
	took = time.Since(posted)
	if err != nil {
		return 0, 0, err
	}
	err = r.Release()
	return took, time.Since(began), err
}
