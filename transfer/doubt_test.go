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

// A Post that takes longer than our wait and then answers that nothing started
// is an honest answer: there was no doubt that it would contradict.
func TestSlowPostThatSubmitsNothing(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		release, err := g.fabric.Hold(sender, loop.CallPost)
		must(t, err)
		must(t, g.fabric.Inject(sender, loop.Fault{Status: backend.NotSubmitted}))
		rs, ss := g.begin()
		time.Sleep(3 * wait)
		synctest.Wait()
		wantAnswer(t, ss, "ACTIVE")
		release()
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, ss, "FAILED, cause not_submitted, origin local")
		if n := g.s.Counters().Conflicts; n != 0 {
			t.Errorf("%d conflicts", n)
		}
	})
}

// Our wait is counted from the moment when Post returned.
func TestWaitStartsAfterPost(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		release, err := g.fabric.Hold(sender, loop.CallPost)
		must(t, errors.Join(err, g.fabric.Stall(receiver)))
		rs, ss := g.begin()
		time.Sleep(2 * wait)
		release()
		posted := time.Now()
		<-ss.Done()
		wantAnswer(t, ss, "FAILED, cause doubt, origin local")
		if took := time.Since(posted); took != wait {
			t.Errorf("doubted %v after Post returned, want %v", took, wait)
		}
		must(t, g.fabric.Continue(receiver))
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// heldPrepare holds every Prepare until the gate opens, and then fails if told to.
type heldPrepare struct {
	*loop.Agent
	gate chan struct{}
	err  error
}

func (b *heldPrepare) Prepare(r backend.Request) (backend.Operation, error) {
	<-b.gate
	if b.err != nil {
		return nil, b.err
	}
	return b.Agent.Prepare(r)
}

// The peer's life ends between the seal and the post. That nothing was submitted
// is then no news that the rules would take: the claim stays in doubt, the owner
// stays valid, and a fence ends it.
func TestPeerGoesBeforeThePost(t *testing.T) {
	for name, test := range map[string]struct {
		prepare error
		post    bool // it goes while Post blocks, which then submits nothing
	}{
		"permission refused": {}, "prepare fails": {prepare: backend.ErrInvalid}, "post submits nothing": {post: true},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				held := &heldPrepare{gate: make(chan struct{}), err: test.prepare}
				s := g.party("prefill-1", func(c *transfer.Config) {
					held.Agent = c.Backend.(*loop.Agent)
					c.Backend = held
				})
				attach(t, s, g.r)
				open := func() { close(held.gate) }
				if test.post {
					open()
					release, err := g.fabric.Hold("prefill-1", loop.CallPost)
					must(t, errors.Join(err, g.fabric.Inject("prefill-1", loop.Fault{Status: backend.NotSubmitted})))
					open = release
				}
				rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
				must(t, err)
				ss, err := (<-s.requests).Send(transfer.SendSpec{Region: s.region})
				must(t, err)
				synctest.Wait()
				must(t, s.Gone(receiver, g.r.Incarnation()))
				open()
				s.expect("doubt: PUBLISHED -> IN_DOUBT", "its peer is gone: it stays in doubt until a fence ends that")
				wantAnswer(t, ss, "FAILED, cause doubt, origin peer")
				wantPhysical(t, ss, ownership.PhysicalInDoubt)
				wantErr(t, ss.Close(), ownership.ErrRefused)
				if n := s.Counters().Conflicts; n != 0 {
					t.Errorf("%d conflicts", n)
				}
				must(t, s.Fence(ownership.FenceSpec{Accessor: receiver, Scope: ownership.Own}))
				must(t, ss.Drain(t.Context()))
				must(t, g.r.Fence(ownership.FenceSpec{Accessor: "prefill-1", Scope: ownership.Passive}))
				must(t, rs.Drain(t.Context()))
				if n := g.fabric.Stats().Bytes; n != 0 {
					t.Errorf("%d bytes moved", n)
				}
			})
		})
	}
}

// A peer that goes while its request still waits to leave is in doubt, and what
// the end of the fan-out says of it must not contradict that.
func TestPeerGoesDuringTheFanOut(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		second := g.party("prefill-1")
		attach(t, g.s, g.r)
		sa, sb := transfer.Pipe()
		_, lr := attachOver(t, second, g.r, sa, &stuck{sb})
		results := make(chan *transfer.Session, 2)
		receive := func(region *transfer.Region, from ...string) {
			rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: region, From: transfer.FromPeers(from...)})
			if err != nil {
				t.Error(err)
			}
			results <- rs
		}
		go receive(g.r.extra("other"), "prefill-1") // sticks in the stream
		synctest.Wait()
		go receive(g.r.region, sender, "prefill-1") // waits behind it
		synctest.Wait()
		must(t, g.r.Gone("prefill-1", second.Incarnation()))
		list := []*transfer.Session{<-results, <-results}
		if n := g.r.Counters().Conflicts; n != 0 {
			t.Errorf("%d conflicts", n)
		}
		for _, rs := range list {
			wantAnswer(t, rs, "FAILED, cause doubt, origin peer")
			wantErr(t, rs.Close(), ownership.ErrRefused)
		}
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: "prefill-1", Scope: ownership.Passive}))
		must(t, errors.Join(list[0].Drain(t.Context()), list[1].Drain(t.Context())))
		must(t, lr.Close())
		attach(t, second, g.r)
	})
}
