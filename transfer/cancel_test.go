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
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// The sender has not decided yet: it holds nothing, says so, and the memory is free.
func TestCancelBeforeTheSenderAnswers(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, request := g.request()
		result, err := rs.Cancel()
		must(t, err)
		if result.Outcome != outcome.Cancelled || result.Physical != ownership.PhysicalDraining {
			t.Errorf("cancel answers %v, %v; want CANCELLED, DRAINING", result.Outcome, result.Physical)
		}
		must(t, rs.Drain(t.Context()))
		wantAnswer(t, rs, "CANCELLED, cause cancel, origin local")
		<-request.Withdrawn()
		_, err = request.Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrAnswered)
		must(t, request.Refuse("too late to matter"))
		g.r.expect("CANCELLED", "acked: PUBLISHED -> FAILED_QUIESCED", "released")
		must(t, g.r.region.Reuse())
	})
}

// slowPrepare holds every Prepare until the gate opens.
type slowPrepare struct {
	*loop.Agent
	gate chan struct{}
}

func (b *slowPrepare) Prepare(r backend.Request) (backend.Operation, error) {
	<-b.gate
	return b.Agent.Prepare(r)
}

// A cancel between seal and post wins: the permission is refused, nothing is
// posted, and not a byte moves.
func TestCancelBeforePost(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		slow := &slowPrepare{gate: make(chan struct{})}
		s := g.party("prefill-1", func(c *transfer.Config) {
			slow.Agent = c.Backend.(*loop.Agent)
			c.Backend = slow
		})
		attach(t, s, g.r)
		fill(s.arena, 'a')
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
		must(t, err)
		ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
		must(t, err)
		_, err = rs.Cancel()
		must(t, err)
		<-ss.Done()
		close(slow.gate)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, ss, "CANCELLED, cause cancel, origin peer")
		s.expect("CANCELLED", "unexposed: PUBLISHED -> SAFE_UNPUBLISHED", "released")
		if n := g.fabric.Stats().Bytes; n != 0 {
			t.Errorf("%d bytes moved after the cancel", n)
		}
	})
}

// After the post a cancel changes the answer and nothing else: the bytes still
// land, the proof is what frees both sides.
func TestCancelAfterPost(t *testing.T) {
	for _, who := range []string{sender, receiver} {
		t.Run(who, func(t *testing.T) {
			atOnce(t, loop.Config{BytesPerTick: size / 2}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				rs, ss := g.begin()
				synctest.Wait()
				first := map[string]*transfer.Session{sender: ss, receiver: rs}[who]
				_, err := first.Cancel()
				must(t, err)
				<-rs.Done()
				<-ss.Done()
				wantPhysical(t, rs, ownership.PhysicalDraining)
				wantPhysical(t, ss, ownership.PhysicalDraining)
				wantErr(t, rs.Close(), ownership.ErrRefused)
				wantErr(t, ss.Close(), ownership.ErrRefused)
				wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
				g.fabric.Advance(2)
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
				for _, s := range []*transfer.Session{rs, ss} {
					if a := s.Answer(); a.Outcome != outcome.Cancelled || a.Cause != ownership.CauseCancel {
						t.Errorf("%v side: %v, want CANCELLED by cancel", s.Side(), a)
					}
				}
				if !bytes.Equal(g.s.arena.Bytes(), g.r.arena.Bytes()) {
					t.Error("the operation was cut: nobody asked for that")
				}
			})
		})
	}
}

// The hazard, owned: the peer is stopped, the request is cancelled, our wait
// runs out, the peer goes on, and only then is the memory free.
func TestStalledPeerSettlesLate(t *testing.T) {
	within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		rs, ss := g.begin()
		time.Sleep(time.Second)
		_, err := ss.Cancel()
		must(t, err)
		wantPhysical(t, ss, ownership.PhysicalDraining)
		time.Sleep(wait)
		synctest.Wait()
		wantPhysical(t, ss, ownership.PhysicalInDoubt)
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
		if a := g.s.Snapshot().Admission; a != ownership.AdmissionQuarantined {
			t.Errorf("admission is %v, want QUARANTINED", a)
		}
		must(t, g.fabric.Continue(receiver))
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, ss, "CANCELLED, cause cancel, origin local")
		wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
		g.s.expect("CANCELLED", "doubt: PUBLISHED -> IN_DOUBT", "IN_DOUBT", "settle: IN_DOUBT -> FAILED_QUIESCED", "released region")
		g.r.expect("CANCELLED", "doubt: PUBLISHED -> IN_DOUBT", "settle: IN_DOUBT -> FAILED_QUIESCED", "released region")
		must(t, g.s.region.Reuse())
		if n := g.fabric.Stats().LateBytes; n != 0 {
			t.Errorf("%d bytes moved through a handle that was let go", n)
		}
		must(t, g.s.Reopen())
		must(t, g.r.Reopen())
	})
}

// A peer that dies takes its proof with it: the memory stays owned, and when
// grace is over that is FATAL, once.
func TestKilledPeerEndsInContainment(t *testing.T) {
	inVirtualTime(t, loop.Config{BytesPerTick: 1}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		ls, _ := attach(t, g.s, g.r)
		rs, ss := g.begin()
		synctest.Wait()
		killed := time.Now()
		must(t, g.fabric.Kill(receiver, 0))
		g.r.Halt()
		<-ls.Done()
		<-ss.Done()
		wantAnswer(t, ss, "FAILED, cause doubt, origin local")
		noticed := time.Since(killed)
		<-g.s.Fatal()
		if took := time.Since(killed); took < grace || took > grace+noticed {
			t.Errorf("FATAL after %v, want %v after the doubt at %v", took, grace, noticed)
		}
		time.Sleep(time.Minute)
		g.s.mu.Lock()
		if n := len(g.s.contained); n != 1 {
			t.Errorf("contained %d times, want once", n)
		}
		g.s.mu.Unlock()
		wantErr(t, ss.Close(), ownership.ErrFatal)
		wantErr(t, g.s.Stop(t.Context()), ownership.ErrFatal)
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
		_, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: g.s.region, From: transfer.FromPeers(receiver)})
		wantErr(t, err, transfer.ErrNoPeer)
		_ = rs
	})
}

// A cancel that finds the tombstones full is neither applied nor answered until
// there is room again.
func TestCancelWaitsForATombstone(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		s := g.party("prefill-1", func(c *transfer.Config) { c.Tombstones = 1 })
		attach(t, s, g.r)
		receive := func(region *transfer.Region) *transfer.Session {
			rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers("prefill-1")})
			must(t, err)
			return rs
		}
		first, second := receive(g.r.region), receive(g.r.extra("more"))
		synctest.Wait()
		for _, rs := range []*transfer.Session{first, second} {
			_, err := rs.Cancel()
			must(t, err)
			synctest.Wait()
		}
		must(t, first.Drain(t.Context()))
		time.Sleep(grace / 2)
		wantErr(t, second.Close(), ownership.ErrRefused)
		must(t, g.r.Watermark(second.Name().Request.Number)) // the first request is over for good
		attach(t, s, g.r)                                    // the Hello says so
		must(t, second.Drain(t.Context()))
	})
}
