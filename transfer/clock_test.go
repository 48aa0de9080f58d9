// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// patient makes an endpoint wait for everything but the grace deadline.
func patient(c *transfer.Config) { c.OperationWait, c.RequestTimeout = 24*time.Hour, 24*time.Hour }

// The grace clock runs from the moment that starts it, whatever else is waited for: at
// exactly its deadline the missing proof is FATAL, and a nanosecond before it is not
// (contract section 6).
func TestGraceCountsFromWhatStartsIt(t *testing.T) {
	for name, test := range map[string]struct {
		own   bool // the memory of the side that posts
		begin func(*testing.T, *rig, *party, *party, *transfer.Session)
	}{
		"an error of our own operation": {true, func(t *testing.T, g *rig, s, r *party, _ *transfer.Session) {
			must(t, g.fabric.Break("s", "r", 0))
			time.Sleep(slowest)
		}},
		"the peer's word of it": {false, func(t *testing.T, g *rig, s, r *party, _ *transfer.Session) {
			must(t, g.fabric.Break("s", "r", 0))
			time.Sleep(slowest)
		}},
		"the peer is gone": {false, func(t *testing.T, g *rig, s, r *party, _ *transfer.Session) { must(t, r.Gone("s", s.Incarnation())) }},
		"a cancel":         {true, func(t *testing.T, g *rig, s, r *party, ss *transfer.Session) { _, err := ss.Cancel(); must(t, err) }},
		"a failure":        {true, func(t *testing.T, g *rig, s, r *party, ss *transfer.Session) { must(t, ss.Fail("no reason")) }},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
				var book book
				logs := func(c *transfer.Config) { c.Log = book.logger(0) }
				s, r := g.party("s", patient, logs), g.party("r", patient, logs)
				s.keepOwning, r.keepOwning = true, true
				attach(t, s, r)
				must(t, g.fabric.Stall("r"))
				rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers("s")})
				must(t, err)
				ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
				must(t, err)
				time.Sleep(time.Minute) // what it counts from is not the start
				synctest.Wait()
				p, session := r, rs
				if test.own {
					p, session = s, ss
				}
				test.begin(t, g, s, r, ss)
				<-session.Done()
				synctest.Wait()
				since := p.since(session)
				time.Sleep(since + grace - p.Elapsed() - 1)
				synctest.Wait()
				select {
				case <-p.Fatal():
					t.Error("it is FATAL a nanosecond too early")
				default:
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				select {
				case <-p.Fatal():
				default:
					t.Fatal("it is not FATAL")
				}
				book.want(t, `level=ERROR msg="grace deadline passed without proof" endpoint=`+p.Name(), "session="+session.Name().String())
			})
		})
	}
}

// since returns when the clock of a session's retirement began.
func (p *party) since(s *transfer.Session) time.Duration {
	p.t.Helper()
	for _, x := range p.Snapshot().Sessions {
		if x.Name == s.Name() {
			return x.DrainStart
		}
	}
	p.t.Fatal("the session is closed")
	return 0
}

// slowest is the longest pause between two polls.
const slowest = 10 * time.Millisecond

// Our wait for an operation, and for a copy, is over at exactly its end.
func TestOwnWaitIsExact(t *testing.T) {
	for name, local := range map[string]bool{"operation": false, "local copy": true} {
		t.Run(name, func(t *testing.T) {
			within(t, wait+2*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				rs, request := g.request()
				spec := transfer.SendSpec{Region: g.s.region}
				if local {
					spec.Gather = g.local(g.arena(), g.s.arena, loop.Fault{})
				}
				ss, err := request.Send(spec)
				must(t, err)
				synctest.Wait()
				time.Sleep(wait - 1)
				synctest.Wait()
				wantAnswer(t, ss, "ACTIVE")
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
				g.s.expect(name+" ", "our wait for it ran out")
				g.fabric.Advance(2)
				must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
				must(t, g.s.Reopen())
				if !local {
					must(t, g.r.Reopen())
				}
			})
		})
	}
}

// An operation that has ended is not waited for any more, however many were before it
// and come after: each has its own wait.
func TestWaitsOfManyOperations(t *testing.T) {
	inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
		s, r := g.party("s"), g.party("r")
		attach(t, s, r)
		var sessions []*transfer.Session
		begin := time.Now()
		for range 5 {
			_, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.extra(time.Since(begin).String()), From: transfer.FromPeers("s")})
			must(t, err)
			ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
			must(t, err)
			sessions = append(sessions, ss)
			if len(sessions) == 2 { // the first two end in time
				synctest.Wait()
				g.fabric.Advance(1)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		for i, ss := range sessions {
			if i < 2 {
				must(t, ss.Wait(t.Context()))
				continue
			}
			<-ss.Done()
			if took := time.Since(begin); took != time.Duration(i)*time.Second+wait {
				t.Errorf("operation %d was doubted after %v", i, took)
			}
		}
		s.keepOwning, r.keepOwning = true, true
	})
}

// A backend that says nothing of an operation, or that it is another one now, or lost,
// is not asked again: only a fence ends the doubt.
func TestHandleThatStandsForNothing(t *testing.T) {
	for _, says := range []backend.Status{backend.NotFound, backend.Replaced, backend.Lost} {
		t.Run(says.String(), func(t *testing.T) {
			within(t, 30*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
				b := &scripted{}
				p := g.party("a", script(b))
				attach(t, p, g.r)
				b.answer("Poll", backend.InProgress, says)
				rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("a")})
				must(t, err)
				ss, err := (<-p.requests).Send(transfer.SendSpec{Region: p.region})
				must(t, err)
				time.Sleep(time.Second)
				synctest.Wait()
				wantAnswer(t, ss, "FAILED, cause doubt, origin local")
				p.expect("poll: " + says.String())
				asked := b.calls("Poll")
				g.fabric.Advance(2)
				time.Sleep(time.Second)
				if n := b.calls("Poll"); n != asked || b.calls("Release") != 0 {
					t.Errorf("the handle was asked %d times more, and released %d times", n-asked, b.calls("Release"))
				}
				wantPhysical(t, ss, ownership.PhysicalInDoubt)
				must(t, errors.Join(p.Fence(ownership.FenceSpec{Accessor: receiver, Scope: ownership.Own}), g.r.Fence(ownership.FenceSpec{Accessor: "a", Scope: ownership.Passive})))
				must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context())))
			})
		})
	}
}
