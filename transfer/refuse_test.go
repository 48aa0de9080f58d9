// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// routed is the name of a session that several receivers were given.
var routed = ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: 7}, Attempt: 1}

// twoAsk lets two receivers ask under one name, and returns what the first one, who
// asks for two pieces, is to be answered.
func (g *rig) twoAsk() (rs, other *transfer.Session, a, b *transfer.Request) {
	g.t.Helper()
	p := g.party("decode-1")
	attach(g.t, g.s, g.r)
	attach(g.t, g.s, p)
	other, err := p.Receive(g.t.Context(), transfer.ReceiveSpec{Session: routed, Region: p.region, From: transfer.FromPeers(sender)})
	must(g.t, err)
	<-g.s.requests
	rs, err = g.r.Receive(g.t.Context(), transfer.ReceiveSpec{Session: routed, From: transfer.FromPeers(sender), Pieces: []transfer.Piece{
		{Name: "a", Region: g.r.region}, {Name: "b", Region: g.r.extra("b")},
	}})
	must(g.t, err)
	a, b = <-g.s.requests, <-g.s.requests
	if a.Piece() == "b" {
		a, b = b, a
	}
	return rs, other, a, b
}

// One piece is being written when another one of the same session is refused, while a
// request of somebody else waits under the name: the refusal is no word about the
// piece that is written.
func TestRefusalIsNoWordAboutWhatIsUnderWay(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		rs, other, a, b := g.twoAsk()
		ss, err := a.Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		synctest.Wait()
		must(t, b.Refuse("no"))
		<-rs.Done()
		synctest.Wait()
		wantErr(t, rs.Close(), ownership.ErrRefused)
		wantErr(t, g.r.region.Reuse(), ownership.ErrRefused)
		g.fabric.Advance(2)
		must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context()), other.Drain(t.Context())))
	})
}

// Where nothing of the peer is under way a refusal of one piece is one of all its
// pieces, and of nobody else's, also where one is being answered at that moment.
func TestRefusalBesideAnAnswer(t *testing.T) {
	for range 200 {
		atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
			rs, other, a, b := g.twoAsk()
			var ss *transfer.Session
			var err error
			var both sync.WaitGroup
			both.Go(func() { ss, err = a.Send(transfer.SendSpec{Region: g.s.region}) })
			both.Go(func() { must(t, b.Refuse("no")) })
			both.Wait()
			synctest.Wait()
			if err == nil && ss.Physical() != ownership.PhysicalRetired {
				wantErr(t, rs.Close(), ownership.ErrRefused)
			}
			if err != nil {
				must(t, a.Refuse("no"))
				must(t, g.s.region.Reuse())
			}
			_, _ = other.Cancel() // nobody answers it
			g.fabric.Advance(2)
			must(t, errors.Join(rs.Drain(t.Context()), other.Drain(t.Context())))
			if err == nil {
				must(t, ss.Drain(t.Context()))
			}
		})
	}
}

// A sender that has completed its session with fewer pieces refuses one more: the
// peer hears of it at once, and not by its timeout.
func TestRefusalAfterTheSendersSuccess(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		must(t, errors.Join(ss.Complete(), ss.Wait(t.Context())))
		must(t, rs.AddLast(t.Context(), transfer.Piece{Name: "more", Region: g.r.extra("more")}))
		late := <-g.s.requests
		_, err = late.Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, ownership.ErrClosed)
		must(t, late.Refuse("the session is over here"))
		begin := time.Now()
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
		if time.Since(begin) >= time.Second {
			t.Error("the peer had to wait for its timeout")
		}
	})
}

// While others wait under the name, a refused peer may have asked for more before it
// hears: the refusal does not say that nothing will be held, and what comes later is
// served. The answer to the peer's own cancel, which comes after all of it, does.
func TestRefusalIsNoWordAboutWhatComesLater(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		p, other := rawPeer(t, g.s, "decode-8", 8), rawPeer(t, g.s, "decode-9", 9)
		target, err := memory.New(memory.Spec{Len: g.s.arena.Len()})
		must(t, err)
		metadata := map[string][]byte{}
		for _, name := range []string{p.name, other.name} {
			agent, err := g.fabric.Agent(name)
			must(t, err)
			_, err = agent.Register(backend.Memory{Addr: target.Addr(), Len: uint64(target.Len())})
			must(t, err)
			metadata[name], err = agent.Metadata()
			must(t, err)
		}
		ask := func(r *raw, piece string, sequence uint64) *transfer.Request {
			claim := r.claim(g.s, routed, sequence)
			claim.Owner, claim.Accessor, claim.Incarnation, claim.Piece = r.life, sender, wire.Incarnation(g.s.Incarnation()), piece
			r.send(wire.RequestData{Seq: sequence, Claim: claim, Direction: wire.Write, Metadata: metadata[r.name],
				Segments: []wire.Segment{{Addr: uint64(target.Addr()), Len: uint64(target.Len())}}})
			return <-g.s.requests
		}
		ask(other, "a", 1)
		must(t, ask(p, "a", 1).Refuse("no"))
		if m, is := p.next().(wire.CancelSession); !is {
			t.Fatalf("the refused peer hears %v", m)
		}
		ss, err := ask(p, "b", 2).Send(transfer.SendSpec{Region: g.s.region}) // it crossed the refusal
		must(t, err)
		synctest.Wait()
		p.send(wire.CancelSession{Seq: 3, Session: wire.SessionName{Request: wire.RequestID(routed.Request), Attempt: 1}, From: wire.Receive})
		synctest.Wait()
		if ss.Physical() == ownership.PhysicalRetired {
			t.Fatal("nothing is under way")
		}
		var early atomic.Bool // until the operation has ended
		early.Store(true)
		go func() {
			for m, err := p.stream.Recv(t.Context()); err == nil; m, err = p.stream.Recv(t.Context()) {
				if m.Kind() == wire.KindSessionQuiesced && early.Load() {
					t.Errorf("while the operation runs the peer hears %v", m)
				}
			}
		}()
		synctest.Wait()
		early.Store(false)
		g.fabric.Advance(2)
		must(t, ss.Drain(t.Context()))
		for _, r := range []*raw{p, other} {
			must(t, g.s.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(r.name), Scope: ownership.All}))
		}
	})
}
