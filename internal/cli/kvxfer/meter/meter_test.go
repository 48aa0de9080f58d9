// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
)

var _ backend.Fencer = (*Backend)(nil)

func TestTimesWhatItPassesOn(t *testing.T) {
	fabric := loop.New(loop.Config{BytesPerTick: 10})
	a, b := agent(t, fabric, "a"), agent(t, fabric, "b")
	from, to := arena(t, a), arena(t, b)
	md, err := b.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Connect("b", md); err != nil {
		t.Fatal(err)
	}
	op, err := a.Prepare(backend.Request{Direction: backend.Write, Peer: "b",
		Local: []backend.Segment{{Addr: uint64(from.Addr()), Len: 30}}, Remote: []backend.Segment{{Addr: uint64(to.Addr()), Len: 30}}})
	if err != nil {
		t.Fatal(err)
	}
	if seen := op.Post(); seen.Status != backend.Submitted || <-a.Posted != seen {
		t.Fatalf("post: %+v", seen)
	}
	out := make([]backend.Observation, 1)
	for range 10 {
		a.Poll([]backend.Operation{op}, out)
		if out[0].Status == backend.Done {
			break
		}
		if a.Last() != 0 {
			t.Fatal("timed before it was done")
		}
		fabric.Step()
	}
	took := a.Last()
	if out[0].Status != backend.Done || took <= 0 {
		t.Fatalf("%+v after %v", out[0], took)
	}
	time.Sleep(time.Millisecond)
	a.Poll([]backend.Operation{op}, out)
	if a.Last() != took {
		t.Error("timed twice")
	}
	if err := op.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestForget(t *testing.T) {
	b := New(nil)
	b.Forget() // nothing there
	b.Posted <- backend.Observation{Status: backend.Done}
	b.Forget()
	select {
	case got := <-b.Posted:
		t.Errorf("kept %+v", got)
	default:
	}
}

func agent(t *testing.T, fabric *loop.Fabric, name string) *Backend {
	t.Helper()
	a, err := fabric.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	return New(a)
}

func arena(t *testing.T, b *Backend) *memory.Arena {
	t.Helper()
	m, err := memory.New(memory.Spec{Len: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Register(backend.Memory{Addr: m.Addr(), Len: uint64(m.Len())}); err != nil {
		t.Fatal(err)
	}
	return m
}
