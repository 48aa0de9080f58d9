// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
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
	inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
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
		inVirtualTime(t, loop.Config{}, func(t *testing.T, g *rig) {
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
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
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
