// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Whatever is stuck, deadlines are judged at their own times (contract section
// 6): an operation that was posted is doubted after its wait, any
// request ends at its timeout, and grace ends in FATAL.
func TestWatchdogIsNotDelayed(t *testing.T) {
	for name, test := range map[string]struct {
		call         loop.Call
		end          time.Duration
		sender, peer string
	}{
		"blocked poll": {loop.CallPoll, wait, "FAILED, cause doubt, origin local", "FAILED, cause doubt, origin peer"},
		// Of an operation that is still being posted nothing is known, so that
		// only the request clock ends it.
		"blocked post": {loop.CallPost, timeout, "FAILED, cause timeout, origin timeout", "FAILED, cause timeout, origin timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
				g.s.keepOwning, g.r.keepOwning = true, true
				attach(t, g.s, g.r)
				release, err := g.fabric.Hold(sender, test.call)
				must(t, err)
				start := time.Now()
				rs, ss := g.begin()
				<-ss.Done()
				if took := time.Since(start); took != test.end {
					t.Errorf("ended after %v, want %v", took, test.end)
				}
				wantAnswer(t, ss, test.sender)
				<-rs.Done()
				wantAnswer(t, rs, test.peer)
				<-g.s.Fatal()
				if took := time.Since(start); took != test.end+grace {
					t.Errorf("FATAL after %v, want %v", took, test.end+grace)
				}
				<-g.r.Fatal()
				release()
			})
		})
	}
}

// The request clock runs while a peer's stream takes nothing in.
func TestBlockedSendDelaysNothing(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.r.keepOwning = true
		sa, sb := transfer.Pipe()
		attachOver(t, g.s, g.r, sa, &stuck{sb})
		start := time.Now()
		result := make(chan *transfer.Session, 1)
		go func() {
			rs, err := g.r.Receive(context.Background(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
			must(t, err)
			result <- rs
		}()
		rs := <-result // the session ended, so the call does
		if took := time.Since(start); took != timeout {
			t.Errorf("the call ended after %v, want %v", took, timeout)
		}
		wantAnswer(t, rs, "FAILED, cause timeout, origin timeout")
		wantPhysical(t, rs, ownership.PhysicalDraining) // it may have left
		<-g.r.Fatal()
		if took := time.Since(start); took != timeout+grace {
			t.Errorf("FATAL after %v, want %v", took, timeout+grace)
		}
	})
}

// An observer that hangs loses events and delays nothing else.
func TestBlockedObserveDelaysNothing(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		gate := make(chan struct{})
		s := g.party("prefill-1", func(c *transfer.Config) {
			c.Observe = func(transfer.Event) { <-gate }
		})
		attach(t, s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		close(gate)
	})
}

// A containment that hangs does not keep the watchdog from its other work.
func TestBlockedContainDelaysNothing(t *testing.T) {
	within(t, 11*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
		gate := make(chan struct{})
		s := g.party("prefill-1", func(c *transfer.Config) {
			c.RequestTimeout, c.Grace = time.Second, time.Second // FATAL comes before the wait is over
			c.Contain = func(ownership.Containment) error { <-gate; return errors.New("nothing to contain it with") }
		})
		s.keepOwning, g.s.keepOwning, g.r.keepOwning = true, true, true
		attach(t, s, g.r)
		start := time.Now()
		_, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
		must(t, err)
		<-s.Fatal()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("FATAL after %v, want 2s", took)
		}
		time.Sleep(wait - time.Since(start))
		synctest.Wait()
		if state, _ := ss.State(); state.Physical != ownership.PhysicalInDoubt {
			t.Errorf("after our wait the session is %v, want IN_DOUBT", state.Physical)
		}
		close(gate)
		synctest.Wait()
		if err := s.Snapshot().ContainErr; err == nil {
			t.Error("the failure of the containment is not recorded")
		}
	})
}

// What has provably not left when the caller's context ends is taken back; the
// peer that may have heard of the memory keeps it owned until it answers.
func TestFanOutThatEndsEarly(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		second := g.party("prefill-1")
		attach(t, g.s, g.r)
		sa, sb := transfer.Pipe()
		_, lr := attachOver(t, second, g.r, sa, &stuck{sb})
		// The first request to prefill-1 sticks in its stream, so the next one
		// waits behind it and never leaves.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		other := g.r.extra("other")
		blocked, err := g.r.Receive(ctx, transfer.ReceiveSpec{Region: other, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rs, err := g.r.Receive(ctx, transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender, "prefill-1")})
		must(t, err)
		wantAnswer(t, rs, "FAILED, cause publication, origin local")
		g.r.expect("unexposed: PUBLISHED -> SAFE_UNPUBLISHED", "acked: PUBLISHED -> FAILED_QUIESCED")
		must(t, rs.Drain(t.Context())) // prefill-0 had nothing and said so
		wantAnswer(t, blocked, "ACTIVE")
		_, err = blocked.Cancel()
		must(t, err)
		wantErr(t, blocked.Close(), ownership.ErrRefused)
		must(t, lr.Close())
		attach(t, second, g.r)
		must(t, blocked.Drain(t.Context()))
	})
}

// While nothing is in flight no timer runs: in virtual time an hour passes in
// one step, and a goroutine that polled would be seen by its calls.
func TestIdleEndpointDoesNotPoll(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, ss := g.begin()
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		synctest.Wait()
		before := g.fabric.Stats().Ticks
		time.Sleep(time.Hour)
		if n := g.fabric.Stats().Ticks - before; n != 0 {
			t.Errorf("%d calls of the backend in an idle hour", n)
		}
	})
}

// A request that waits to leave when its session ends never does: the memory is free at
// once, whatever becomes of the stream.
func TestRequestThatNeverLeft(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.r.keepOwning = true
		sa, sb := transfer.Pipe()
		attachOver(t, g.s, g.r, sa, &stuck{sb})
		results := make(chan *transfer.Session, 2)
		for _, r := range []*transfer.Region{g.r.region, g.r.extra("more")} {
			go func() {
				rs, err := g.r.Receive(context.Background(), transfer.ReceiveSpec{Region: r, From: transfer.FromPeers(sender)})
				must(t, err)
				results <- rs
			}()
			synctest.Wait()
		}
		begin := time.Now()
		for range 2 {
			rs := <-results
			wantAnswer(t, rs, "FAILED, cause timeout, origin timeout")
			if rs.Name().Request.Number == 1 {
				wantPhysical(t, rs, ownership.PhysicalDraining) // it may have left
			} else {
				must(t, rs.Drain(t.Context()))
			}
		}
		if took := time.Since(begin); took != timeout {
			t.Errorf("it took %v, want %v", took, timeout)
		}
	})
}

// Two endpoints in quarantine: a name that was refused can be taken afterwards.
func TestRefusedNameIsFree(t *testing.T) {
	within(t, 13*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		rs, ss := g.doubtful()
		spec := transfer.ReceiveSpec{Session: ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: 1}, Attempt: 1}, Region: g.r.extra("more"), From: transfer.FromPeers(sender)}
		_, err := g.r.Receive(t.Context(), spec)
		wantErr(t, err, ownership.ErrClosed)
		g.settle(rs, ss)
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
		rs, err = g.r.Receive(t.Context(), spec)
		must(t, err)
		must(t, (<-g.s.requests).Refuse("no"))
		must(t, rs.Drain(t.Context()))
	})
}

// An offer's blocks may overlap; a destination's must not.
func TestOfferedBlocksMayOverlap(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		fill(g.r.arena, 'a')
		rs, err := g.r.Offer(t.Context(), transfer.OfferSpec{Region: g.r.region, Blocks: []transfer.Block{{Len: 100}, {Offset: 50, Len: 100}}, To: transfer.ToPeers(sender)})
		must(t, err)
		ss, err := (<-g.s.requests).Fetch(transfer.FetchSpec{Region: g.s.region, Blocks: []transfer.Block{{Len: 200}}})
		must(t, errors.Join(err, rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		from, to := g.r.arena.Bytes(), g.s.arena.Bytes()
		if string(to[:100]) != string(from[:100]) || string(to[100:200]) != string(from[50:150]) {
			t.Error("other bytes have arrived")
		}
	})
}
