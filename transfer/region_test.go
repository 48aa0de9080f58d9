// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Under two names the same bytes could be reused by one owner while a peer
// still writes them for the other.
func TestOverlappingRegionsAreRefused(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		m := g.r.region.Memory()
		end := m.Addr + uintptr(m.Len)
		for _, other := range []backend.Memory{
			m, {Addr: m.Addr + 4096, Len: 4096}, {Addr: m.Addr - 4096, Len: m.Len + 8192}, {Addr: m.Addr - 1, Len: 2}, {Addr: end - 1, Len: 1},
		} {
			_, err := g.r.RegisterMemory("again", other)
			wantErr(t, err, ownership.ErrReject)
		}
		_, err := g.r.Register("again", g.r.arena)
		wantErr(t, err, ownership.ErrReject)
		before, err := g.r.RegisterMemory("before", backend.Memory{Addr: m.Addr - 1, Len: 1})
		must(t, err)
		after, err := g.r.RegisterMemory("after", backend.Memory{Addr: end, Len: 1})
		must(t, errors.Join(err, before.Deregister(), after.Deregister()))
	})
}

// The handle of a deregistered region says nothing of a later one that has its
// name, and its addresses are another's.
func TestDeregisteredRegionIsNotTaken(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		old := g.r.region
		m := old.Memory()
		must(t, old.Deregister())
		half := backend.Memory{Addr: m.Addr, Len: m.Len / 2}
		same, err := g.r.RegisterMemory(old.ID(), half)
		must(t, err)
		half.Addr += uintptr(half.Len)
		_, err = g.r.RegisterMemory("other", half)
		must(t, err)

		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: old, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrInvalidArgument)
		_, err = old.Pool(4096)
		wantErr(t, err, ownership.ErrInvalidArgument)
		wantErr(t, old.Reuse(), ownership.ErrInvalidArgument)
		wantErr(t, old.Deregister(), ownership.ErrInvalidArgument)
		if _, known := old.State(); known {
			t.Error("the old handle has the state of the new region")
		}
		if st, known := same.State(); !known || !st.Registered {
			t.Errorf("the new region is %+v", st)
		}
	})
}

// Registered memory stays mapped, whatever its owner does.
func TestRegisteredArenaStaysMapped(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		wantErr(t, g.r.arena.Close(), memory.ErrHeld)
		_, err := g.r.Register(g.r.region.ID(), g.r.arena) // refused, and leaves no hold behind
		wantErr(t, err, ownership.ErrReject)
		must(t, errors.Join(g.r.region.Deregister(), g.r.arena.Close()))
		_, err = g.r.Register("closed", g.r.arena)
		wantErr(t, err, memory.ErrClosed)
		must(t, errors.Join(g.s.Stop(t.Context()), g.s.arena.Close()))
	})
}

// Whoever comes first, no transfer runs on memory that is given back.
func TestDeregisterAgainstReceive(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		g.s.OnRequest(func(r *transfer.Request) { _ = r.Refuse("not now") })
		for range 200 {
			arena, err := memory.New(memory.Spec{Len: 4096})
			must(t, err)
			region, err := g.r.Register("racing", arena)
			must(t, err)
			var both sync.WaitGroup
			var session *transfer.Session
			var removed error
			both.Go(func() {
				session, _ = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers(sender)})
			})
			both.Go(func() { removed = region.Deregister() })
			both.Wait()
			if (session != nil) == (removed == nil) && (session != nil || !errors.Is(removed, ownership.ErrRefused)) {
				t.Fatalf("session %v, deregistered: %v", session, removed)
			}
			if session != nil {
				wantErr(t, arena.Close(), memory.ErrHeld)
				must(t, session.Drain(t.Context()))
			}
			if removed != nil {
				must(t, region.Deregister())
			}
			must(t, arena.Close())
		}
	})
}

// noMetadata cannot say what peers need to know.
type noMetadata struct {
	backend.Backend
	err error
}

func (b *noMetadata) Metadata() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.Backend.Metadata()
}

// TestRegisterIsAllOrNothing: memory whose registration peers cannot be told of is not
// registered, and may be unmapped by whoever looks at the error alone.
func TestRegisterIsAllOrNothing(t *testing.T) {
	agent, err := loop.New(loop.Config{}).Agent("a")
	must(t, err)
	broken := &noMetadata{Backend: agent}
	e, err := transfer.New(transfer.Config{Name: "a", Backend: broken, Contain: func(ownership.Containment) error { return nil }})
	must(t, err)
	arena, err := memory.New(memory.Spec{Len: 4096})
	must(t, err)
	broken.err = errors.New("no metadata today")
	if r, err := e.Register("kv", arena); r != nil || !errors.Is(err, broken.err) {
		t.Fatalf("Register = %v, %v", r, err)
	}
	broken.err = nil
	r, err := e.Register("kv", arena)
	must(t, err)
	must(t, r.Deregister())
	must(t, arena.Close())
	must(t, e.Stop(t.Context()))
}
