// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// local makes a copy of whole arenas, in two halves.
func (g *rig) local(from, to *memory.Arena, fault loop.Fault) *loop.Local {
	g.t.Helper()
	halves := func(a *memory.Arena) []backend.Segment {
		at := uint64(a.Addr())
		return []backend.Segment{{Addr: at, Len: size / 2}, {Addr: at + size/2, Len: size / 2}}
	}
	l, err := g.fabric.Local(halves(from), halves(to))
	must(g.t, errors.Join(err, l.Inject(fault)))
	return l
}

func (g *rig) arena() *memory.Arena {
	g.t.Helper()
	a, err := memory.New(memory.Spec{Len: size})
	must(g.t, err)
	g.t.Cleanup(func() { a.Close() })
	return a
}

// A gather fills the send buffer, then the data moves, then a scatter takes it to
// its place: each waits for the proof of the one before.
func TestGatherTransferScatter(t *testing.T) {
	within(t, 6*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		source, target := g.arena(), g.arena()
		fill(source, 'a')
		gather, scatter := g.local(source, g.s.arena, loop.Fault{}), g.local(g.r.arena, target, loop.Fault{})
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Scatter: scatter})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		synctest.Wait()
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
		step := func(what string, s *transfer.Session, local, claim string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			p, _ := s.State()
			if got := p.Pieces[0]; got.Local.State.String() != local || got.Claims[0].State.String() != claim {
				t.Fatalf("%s: local claim %v, peer's claim %v; want %s, %s", what, got.Local.State, got.Claims[0].State, local, claim)
			}
		}
		step("gather runs", ss, "PUBLISHED", "UNPUBLISHED")
		g.fabric.Step()
		step("half is gathered", ss, "PUBLISHED", "UNPUBLISHED")
		g.fabric.Step()
		step("all is gathered", ss, "DRAINED", "PUBLISHED")
		step("nothing is received", rs, "UNPUBLISHED", "PUBLISHED")
		g.fabric.Step()
		step("all is received", rs, "PUBLISHED", "DRAINED")
		must(t, ss.Wait(t.Context()))
		wantAnswer(t, rs, "ACTIVE")
		wantErr(t, rs.Close(), ownership.ErrRefused)
		g.fabric.Advance(2)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		if !bytes.Equal(source.Bytes(), target.Bytes()) {
			t.Error("what was scattered is not what was gathered")
		}
		synctest.Wait() // a copy is let go just after its end was told
		if !gather.Released() || !scatter.Released() {
			t.Errorf("released: gather %v, scatter %v", gather.Released(), scatter.Released())
		}
	})
}

// A cancel does not stop a gather: nothing is posted after it, and the region stays
// owned until the copy has ended.
func TestCancelWhileItGathers(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		rs, request := g.request()
		ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		synctest.Wait()
		_, err = rs.Cancel()
		must(t, err)
		<-ss.Done()
		wantPhysical(t, ss, ownership.PhysicalDraining)
		wantErr(t, ss.Close(), ownership.ErrRefused)
		if gather.Released() {
			t.Error("a copy in flight was released")
		}
		g.fabric.Advance(2)
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
		synctest.Wait()
		if !gather.Released() {
			t.Error("a copy that has ended was not released")
		}
		g.s.expect("CANCELLED", "local", "released")
		if n := g.fabric.Stats().Bytes; n != size { // of the gather
			t.Errorf("%d bytes moved, want the gather's %d", n, size)
		}
	})
}

// What may go wrong with a gather: nothing of it is sent, and only proof frees.
func TestGatherThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		fault    loop.Fault
		want     string
		released bool // the copy is, and the memory without a fence
	}{
		"not submitted": {loop.Fault{Status: backend.NotSubmitted}, "FAILED, cause local_not_submitted, origin local", true},
		"error":         {loop.Fault{Status: backend.Error, After: size / 2, Late: loop.Rest}, "FAILED, cause doubt, origin local", false},
		"lost":          {loop.Fault{Status: backend.Lost}, "FAILED, cause doubt, origin local", false},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				gather := g.local(g.arena(), g.s.arena, test.fault)
				rs, request := g.request()
				ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
				must(t, err)
				<-ss.Done()
				time.Sleep(time.Second)
				synctest.Wait()
				wantAnswer(t, ss, test.want)
				if !test.released {
					wantPhysical(t, ss, ownership.PhysicalInDoubt)
					wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
					must(t, g.s.Fence(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}))
				}
				if gather.Released() != test.released {
					t.Errorf("copy released: %v, want %v", gather.Released(), test.released)
				}
				must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context()), g.s.region.Reuse()))
				wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
				if n := g.fabric.Stats().Bytes; n > size {
					t.Errorf("%d bytes moved: something was sent", n)
				}
			})
		})
	}
}

// Our wait for a copy may run out; proof that comes later settles it.
func TestGatherThatIsLate(t *testing.T) {
	within(t, 11*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		rs, request := g.request()
		ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		<-ss.Done()
		wantAnswer(t, ss, "FAILED, cause doubt, origin local")
		g.fabric.Advance(2)
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
		if n := g.s.count("operation prefill"); n != 0 {
			t.Errorf("a local copy is called an operation %d times", n)
		}
		g.s.expect("local copy", "our wait for it ran out", "settle: IN_DOUBT -> FAILED_QUIESCED", "released")
		synctest.Wait()
		if !gather.Released() {
			t.Error("a copy that has ended was not released")
		}
		must(t, g.s.Reopen())
	})
}

// Failed or cancelled data is never scattered, and a scatter that was not started
// is given up.
func TestFailedDataIsNotScattered(t *testing.T) {
	for name, fault := range map[string]loop.Fault{
		"not submitted": {Status: backend.NotSubmitted}, "error that settles": {Status: backend.Error, After: 512, Transient: true},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{Auto: true, BytesPerTick: 1024}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				target := g.arena()
				scatter := g.local(g.r.arena, target, loop.Fault{})
				must(t, g.fabric.Inject(sender, fault))
				fill(g.s.arena, 'a')
				rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Scatter: scatter})
				must(t, err)
				ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
				must(t, err)
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
				synctest.Wait()
				if !bytes.Equal(target.Bytes(), make([]byte, size)) {
					t.Error("failed data was scattered")
				}
				if !scatter.Released() {
					t.Error("the scatter that never started was not given up")
				}
				must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
			})
		})
	}
}

// A scatter is a claim: it keeps the memory after the data arrived, whatever
// happens to the session, and an error of it is no end.
func TestScatterInDoubtKeepsTheMemory(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		scatter := g.local(g.r.arena, g.arena(), loop.Fault{Status: backend.Error, After: size / 2, Late: loop.Rest})
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Scatter: scatter})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		must(t, errors.Join(ss.Wait(t.Context()), ss.Drain(t.Context())))
		<-rs.Done()
		wantAnswer(t, rs, "FAILED, cause doubt, origin local")
		time.Sleep(time.Second)
		wantErr(t, rs.Close(), ownership.ErrRefused)
		if scatter.Released() {
			t.Error("a copy in doubt was released")
		}
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: ownership.Local, Scope: ownership.Own}))
		must(t, rs.Drain(t.Context()))
	})
}

// What is refused before anything is owned stays the caller's to release.
func TestLocalOfARefusedCallIsTheCallers(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		scatter := g.local(g.r.arena, g.arena(), loop.Fault{})
		_, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("who"), Scatter: scatter})
		wantErr(t, err, transfer.ErrNoPeer)
		_, err = g.r.Offer(t.Context(), transfer.OfferSpec{To: transfer.ToPeers(sender), Pieces: []transfer.Piece{{Region: g.r.region, Scatter: scatter}}})
		wantErr(t, err, transfer.ErrConfig)
		if scatter.Released() {
			t.Error("a copy of a refused call was released")
		}
		must(t, scatter.Release())
	})
}
