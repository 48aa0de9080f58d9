// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// The tests of this file are rows of the catalogue of scenarios that a file
// cannot express: they need a backend, streams and goroutines.

// mumbler answers polls with something that is no positive answer while it is on.
type mumbler struct {
	backend.Backend
	says backend.Observation
	on   atomic.Bool
}

func (m *mumbler) Poll(handles []backend.Operation, seen []backend.Observation) {
	m.Backend.Poll(handles, seen)
	if !m.on.Load() {
		return
	}
	for i := range seen {
		seen[i] = m.says
	}
}

// Of an operation in doubt only the positive status of its own retained handle
// is proof, whatever else a backend may return (contract section 2).
func TestSettlementNeedsPositiveRetainedStatus(t *testing.T) {
	for name, says := range map[string]backend.Observation{
		"none":        {},
		"false":       {Status: backend.InProgress},
		"wrong type":  {Status: 99},
		"query error": {Status: backend.Error, Err: errors.New("the query failed")},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				m := &mumbler{says: says}
				s := g.party("prefill-1", func(c *transfer.Config) { m.Backend, c.Backend = c.Backend, m })
				attach(t, s, g.r)
				must(t, g.fabric.Stall(receiver))
				rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
				must(t, err)
				ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
				must(t, err)
				time.Sleep(wait)
				<-ss.Done()
				m.on.Store(true)
				must(t, g.fabric.Continue(receiver)) // the operation ends, and nobody is told
				time.Sleep(time.Second)
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
				wantPhysical(t, ss, ownership.PhysicalInDoubt)
				wantPhysical(t, rs, ownership.PhysicalInDoubt)
				wantErr(t, s.region.Reuse(), ownership.ErrRefused)
				m.on.Store(false)
				must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
				must(t, errors.Join(s.Reopen(), g.r.Reopen()))
			})
		})
	}
}

// The stream that the listening side took breaks while an operation runs. The
// poller goes on, and its result leaves on the stream that is there by then: no
// doubt, no second report.
func TestListenerFailureUsesTheWorkerStream(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		ls, lr := attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		rs, ss := g.begin()
		time.Sleep(time.Second)
		must(t, lr.Close())
		<-ls.Done()
		wantAnswer(t, rs, "ACTIVE")
		must(t, g.fabric.Continue(receiver))
		must(t, ss.Wait(t.Context()))
		time.Sleep(time.Second)
		wantAnswer(t, rs, "ACTIVE") // nothing has told it
		attach(t, g.r, g.s)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, rs, "SUCCEEDED")
		if n := g.r.count("doubt: "); n != 0 {
			t.Errorf("%d doubts: the loss of a stream is no event", n)
		}
	})
}

// Nobody calls anything any more, and the retained operation is polled all the
// same until it ends; whether the report of the doubt left before or not, the
// settlement follows it.
func TestIdleWorkerPollsRetainedStatus(t *testing.T) {
	for name, fails := range map[string]bool{"first report leaves": false, "first report fails": true} {
		t.Run(name, func(t *testing.T) {
			within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				ls, _ := attach(t, g.s, g.r)
				must(t, g.fabric.Stall(receiver))
				rs, ss := g.begin()
				synctest.Wait()
				if fails {
					must(t, ls.Close())
				}
				time.Sleep(wait)
				synctest.Wait()
				wantPhysical(t, ss, ownership.PhysicalInDoubt)
				must(t, g.fabric.Continue(receiver))
				time.Sleep(time.Second)
				wantPhysical(t, ss, ownership.PhysicalRetired)
				if fails {
					wantAnswer(t, rs, "ACTIVE")
					attach(t, g.s, g.r)
				}
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
				wantAnswer(t, rs, "FAILED, cause doubt, origin peer")
				g.r.expect("doubt: PUBLISHED -> IN_DOUBT", "settle: IN_DOUBT -> FAILED_QUIESCED")
				must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
			})
		})
	}
}

// A handle is lost while its operation still reads the source. The source is
// not handed out, so what lands late is what was asked for; a fence ends it.
func TestHandleReleasedInFlight(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true, BytesPerTick: 1024}, func(t *testing.T, g *rig) {
		g.s.keepOwning = true // the backend keeps a registration that a lost handle used
		attach(t, g.s, g.r)
		must(t, g.fabric.Inject(sender, loop.Fault{Status: backend.Lost, After: 4096, Late: loop.Rest}))
		rs, ss := g.begin()
		want := bytes.Clone(g.s.arena.Bytes())
		<-ss.Done()
		wantAnswer(t, ss, "FAILED, cause doubt, origin local")
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
		wantErr(t, ss.Close(), ownership.ErrRefused)
		time.Sleep(time.Second)
		g.fabric.Advance(size)
		if !bytes.Equal(g.r.arena.Bytes(), want) {
			t.Error("the peer did not receive what was asked for")
		}
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: receiver, Scope: ownership.Own}))
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}))
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
		must(t, g.s.region.Reuse())
	})
}

// A peer dies and is there again at once under its name. What the old life may
// still touch stays owned; the new life is served beside it.
func TestRemoteAgentReaddedAtOnce(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		_, ss := g.begin()
		synctest.Wait()
		must(t, g.fabric.Kill(receiver, 0))
		g.r.Halt()
		again := g.party(receiver, func(c *transfer.Config) { c.FirstRequest = 1000 })
		again.keepOwning = true
		attach(t, g.s, again)
		<-ss.Done()
		wantPhysical(t, ss, ownership.PhysicalInDoubt)
		must(t, g.s.Reopen())
		rs2, err := again.Receive(t.Context(), transfer.ReceiveSpec{Region: again.region, From: transfer.FromPeers(sender)})
		must(t, err)
		ss2, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		must(t, errors.Join(rs2.Drain(t.Context()), ss2.Drain(t.Context())))
		wantAnswer(t, rs2, "SUCCEEDED")
		if !bytes.Equal(again.arena.Bytes(), g.s.arena.Bytes()) {
			t.Error("the new life did not get the bytes")
		}
		wantPhysical(t, ss, ownership.PhysicalInDoubt)
		wantErr(t, ss.Close(), ownership.ErrRefused)
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
	})
}
