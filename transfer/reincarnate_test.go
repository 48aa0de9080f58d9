// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// limited is an agent that promises what another transport does.
type limited struct {
	*loop.Agent
	limits backend.Limits
}

func (b *limited) Limits() backend.Limits { return b.limits }

var likeCMA = backend.Limits{Transport: "nixl/cma", OwnFence: true}

// like makes the party's backend promise what limits say.
func like(limits backend.Limits) func(*transfer.Config) {
	return func(c *transfer.Config) { c.Backend = &limited{c.Backend.(*loop.Agent), limits} }
}

// again returns what makes the next backend.
func (g *rig) again(limits *backend.Limits) func(string) (backend.Backend, error) {
	return func(agent string) (backend.Backend, error) {
		a, err := g.fabric.Agent(agent)
		if err != nil || limits == nil {
			return a, err
		}
		return &limited{a, *limits}, nil
	}
}

func (g *rig) reincarnate(p *party, limits *backend.Limits) transfer.Reincarnation {
	g.t.Helper()
	r, err := p.Reincarnate(g.t.Context(), g.again(limits))
	must(g.t, err)
	return r
}

// The peer hangs in the middle. Destroying the own agent frees the source, a new
// life takes over, and the target, which the old one was writing, is freed by the
// end of its own agent.
func TestReincarnateFreesWhatItProves(t *testing.T) {
	within(t, 12*time.Second, loop.Config{Auto: true, BytesPerTick: 1024}, func(t *testing.T, g *rig) {
		link, _ := attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		rs, ss := g.begin()
		time.Sleep(wait + time.Second)
		synctest.Wait()
		wantPhysical(t, ss, ownership.PhysicalInDoubt)
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		old := g.s.Incarnation()

		r := g.reincarnate(g.s, nil)
		if r.From != old || r.To != g.s.Incarnation() || r.From == r.To || r.Fenced != 1 || len(r.Retained) != 0 || !r.Proven.Own.Proven {
			t.Errorf("%+v", r)
		}
		if len(r.Peers) != 1 || r.Peers[0] != receiver {
			t.Errorf("peers to attach: %v", r.Peers)
		}
		<-link.Done()
		wantErr(t, link.Err(), transfer.ErrReincarnated)
		must(t, errors.Join(ss.Drain(t.Context()), g.s.region.Reuse()))
		wantErr(t, g.r.region.Reuse(), ownership.ErrRefused) // the fence was ours alone

		attach(t, g.s, g.r)
		if second := g.reincarnate(g.r, nil); second.Fenced != 1 || len(second.Retained) != 0 {
			t.Errorf("%+v", second)
		}
		must(t, errors.Join(rs.Drain(t.Context()), g.r.region.Reuse()))

		attach(t, g.s, g.r)
		must(t, errors.Join(g.s.WaitAdmission(t.Context()), g.r.WaitAdmission(t.Context())))
		rs, ss = g.begin()
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		if !bytes.Equal(g.s.arena.Bytes(), g.r.arena.Bytes()) {
			t.Error("the new lives do not move data")
		}
		if n := g.fabric.Stats().LateBytes; n != 0 {
			t.Errorf("%d bytes landed late", n)
		}
	})
}

// Where the end of the own agent is no proof for memory that a peer reaches, that memory
// stays owned and is listed, until somebody has seen to the peer.
func TestPassiveMemoryNeedsThePeersEnd(t *testing.T) {
	within(t, 2*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		r := g.party("decode-1", like(likeCMA))
		attach(t, g.s, r)
		must(t, g.fabric.Stall("decode-1"))
		rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		_, err = (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		// And one that it sends itself.
		other, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: g.s.extra("into"), From: transfer.FromPeers("decode-1")})
		must(t, err)
		own, err := (<-r.requests).Send(transfer.SendSpec{Region: r.extra("from")})
		must(t, err)
		time.Sleep(time.Second)

		got, err := r.Reincarnate(t.Context(), g.again(&likeCMA))
		must(t, err)
		if !got.Proven.Own.Proven || got.Proven.Passive.Proven || got.Fenced != 1 {
			t.Errorf("%+v", got)
		}
		if len(got.Retained) != 1 || got.Retained[0].Piece.Session != rs.Name() || got.Retained[0].Accessor != sender {
			t.Errorf("retained: %+v", got.Retained)
		}
		must(t, own.Drain(t.Context()))
		wantAnswer(t, rs, "FAILED, cause reincarnated, origin local")
		wantErr(t, r.region.Reuse(), ownership.ErrRefused)
		_, err = r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, transfer.ErrNoPeer)
		attach(t, g.s, r)
		must(t, g.s.Reopen())
		_, err = r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrRefused) // it is owned, whatever life asks

		// The other half: somebody has seen to the peer.
		v, err := fence.Judge(fence.Case{Limits: likeCMA}, fence.Statement{
			Who: "test", Checked: map[fence.Fact]string{fence.ProcessGone: "the writer is stopped", fence.RegionInvalid: "nothing waits"}, Passive: true,
		})
		must(t, err)
		if !v.Passive.Proven || v.Own.Proven {
			t.Errorf("verdict: %v", v)
		}
		must(t, r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}))
		must(t, errors.Join(rs.Drain(t.Context()), r.region.Reuse()))
		if late := g.reincarnate(g.s, nil); len(late.Retained) != 0 {
			t.Errorf("retained: %+v", late.Retained)
		}
		attach(t, g.s, r) // for the last reports
		must(t, other.Drain(t.Context()))
	})
}

// forgetful is a stream that loses cancels.
type forgetful struct{ transfer.Stream }

func (s *forgetful) Send(ctx context.Context, m wire.Message) error {
	if m.Kind() == wire.KindCancelSession {
		return nil
	}
	return s.Stream.Send(ctx, m)
}

// A request that nobody has answered dies with the life that asked; its memory is
// free when the peer says that it holds nothing of it. The new life asks it again,
// whether the cancel was still to be sent or was lost on its way.
func TestCancelReachesThePeerAgain(t *testing.T) {
	for name, lost := range map[string]bool{"not sent": false, "not confirmed": true} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				r := g.party("decode-1", like(likeCMA))
				sa, sb := transfer.Pipe()
				_, link := attachOver(t, g.s, r, sa, &forgetful{sb})
				rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
				must(t, err)
				request := <-g.s.requests
				if lost {
					_, err = rs.Cancel()
					must(t, err)
					synctest.Wait()
				} else {
					must(t, link.Close())
				}
				if got := g.reincarnate(r, &likeCMA); len(got.Retained) != 1 {
					t.Errorf("retained: %+v", got.Retained)
				}
				wantErr(t, rs.Close(), ownership.ErrRefused)
				attach(t, g.s, r)
				<-request.Withdrawn()
				must(t, errors.Join(rs.Drain(t.Context()), r.region.Reuse()))
			})
		})
	}
}

// The peer has confirmed a cancel and was about to answer it, when the life that
// asked has ended: the answer goes to nobody, and the new life asks again.
func TestAnswerToACancelIsDueToTheNextLife(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		r := g.party("decode-1", like(likeCMA))
		attach(t, g.s, r)
		rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		synctest.Wait()
		_, err = rs.Cancel()
		must(t, err)
		synctest.Wait()
		wantAnswer(t, ss, "CANCELLED, cause cancel, origin peer") // and it waits for the gather
		g.reincarnate(r, &likeCMA)
		attach(t, g.s, r)
		synctest.Wait()
		wantErr(t, rs.Close(), ownership.ErrRefused)
		g.fabric.Advance(2)
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context()), r.region.Reuse()))
	})
}

// Nothing is asked of a peer about memory that a fence has freed: it may be dead, and
// Stop would wait for it.
func TestFencedPeerIsNotAskedAgain(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		r := g.party("decode-1", like(likeCMA))
		_, link := attach(t, g.s, r)
		rs, err := r.Receive(t.Context(), transfer.ReceiveSpec{Region: r.region, From: transfer.FromPeers(sender)})
		must(t, err)
		<-g.s.requests
		_, err = rs.Cancel()
		must(t, err)
		synctest.Wait()
		must(t, link.Close())
		g.s.Halt() // it is dead
		g.s.keepOwning = true
		g.reincarnate(r, &likeCMA)
		must(t, r.Fence(ownership.FenceSpec{Accessor: sender, Scope: ownership.Passive}))
		must(t, errors.Join(rs.Drain(t.Context()), r.Stop(t.Context())))
	})
}

// What was asked of the old life is not answered by the new one: neither a request
// that waits for an answer, nor an operation that was about to be posted.
func TestNothingOfTheOldLifeIsPosted(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, request := g.request()
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		second, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.extra("more"), From: transfer.FromPeers(sender)})
		must(t, err)
		late := <-g.s.requests
		g.reincarnate(g.s, nil)
		<-request.Withdrawn()
		_, err = request.Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrAnswered)
		_, err = late.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		wantErr(t, err, transfer.ErrAnswered)
		must(t, gather.Release())
		attach(t, g.s, g.r)
		g.reincarnate(g.r, nil)
		must(t, errors.Join(rs.Drain(t.Context()), second.Drain(t.Context())))
		if n := g.fabric.Stats().Bytes; n != 0 {
			t.Errorf("%d bytes moved", n)
		}
		attach(t, g.s, g.r)
	})
}

// A gather outlives the agent: its end frees it and posts nothing.
func TestGatherOutlivesTheAgent(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, request := g.request()
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		synctest.Wait()
		r := g.reincarnate(g.s, nil)
		if len(r.Retained) != 1 || r.Retained[0].Accessor != ownership.Local {
			t.Errorf("retained: %+v", r.Retained)
		}
		wantErr(t, ss.Close(), ownership.ErrRefused)
		g.fabric.Advance(2)
		must(t, ss.Drain(t.Context()))
		synctest.Wait() // the copy is let go just after its end was told
		if n := g.fabric.Stats().Bytes; n != size || !gather.Released() {
			t.Errorf("%d bytes moved, copy released: %v", n, gather.Released())
		}
		attach(t, g.s, g.r)
		g.reincarnate(g.r, nil)
		must(t, rs.Drain(t.Context()))
		attach(t, g.s, g.r)
	})
}

// A call of the backend that does not return keeps the agent: nothing has happened,
// and the operation still ends by its own proof.
func TestReincarnateWaitsForCalls(t *testing.T) {
	for name, call := range map[string]loop.Call{"post": loop.CallPost, "poll": loop.CallPoll} {
		t.Run(name, func(t *testing.T) {
			within(t, 2*time.Second, loop.Config{Auto: true, BytesPerTick: 1024}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				release, err := g.fabric.Hold(sender, call)
				must(t, err)
				rs, ss := g.begin()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				before := g.s.Incarnation()
				_, err = g.s.Reincarnate(ctx, g.again(nil))
				wantErr(t, err, context.DeadlineExceeded)
				if g.s.Incarnation() != before {
					t.Error("another life has begun")
				}
				must(t, g.s.WaitAdmission(t.Context())) // it goes on as before
				release()
				must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
			})
		})
	}
}

// Without a new backend the endpoint stays closed, and can be tried again or stopped.
func TestReincarnateWithoutABackend(t *testing.T) {
	within(t, 3*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver))
		rs, ss := g.begin()
		time.Sleep(time.Second)
		none := func(string) (backend.Backend, error) { return nil, backend.ErrUnavailable }
		_, err := g.s.Reincarnate(t.Context(), none)
		wantErr(t, err, backend.ErrUnavailable)
		must(t, ss.Drain(t.Context())) // what was proven stays proven
		_, err = g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: g.s.region, From: transfer.FromPeers(receiver)})
		wantErr(t, err, transfer.ErrReincarnated)
		_, err = g.s.Register("late", g.arena())
		wantErr(t, err, transfer.ErrReincarnated)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, g.s.WaitAdmission(ctx), context.DeadlineExceeded)
		r, err := g.s.Reincarnate(t.Context(), func(string) (backend.Backend, error) { return nil, nil })
		if err == nil || !r.Proven.Own.Proven {
			t.Errorf("%+v, %v", r, err)
		}
		if r = g.reincarnate(g.s, nil); !r.Proven.Own.Proven {
			t.Errorf("%+v", r)
		}
		must(t, g.s.WaitAdmission(t.Context()))
		attach(t, g.s, g.r)
		_, err = g.r.Reincarnate(t.Context(), none) // and this one is stopped without one
		wantErr(t, err, backend.ErrUnavailable)
		must(t, rs.Drain(t.Context()))
	})
}

// An agent whose end proves nothing is not ended.
func TestReincarnateWhereNothingWouldBeProven(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		p := g.party("decode-1", like(backend.Limits{Transport: "nixl/auto"}))
		before := p.Incarnation()
		_, err := p.Reincarnate(t.Context(), g.again(nil))
		wantErr(t, err, fence.ErrNotProven)
		_, err = p.Reincarnate(t.Context(), nil)
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "reincarnate decode-1: invalid argument: newBackend is nil")
		if p.Incarnation() != before {
			t.Error("another life has begun")
		}
		_, err = p.agent.Metadata()
		must(t, err)
	})
}
