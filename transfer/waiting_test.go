// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Two receivers ask one sender under one name. The first to ask takes nothing
// from the other, one can be served, and the refusal of the other is its own.
func TestTwoPeersAskUnderOneName(t *testing.T) {
	for name, creator := range map[string]string{"a third party's": "router", "the later one's": receiver} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
				other := g.party("decode-1")
				attach(t, g.s, g.r)
				attach(t, g.s, other)
				session := ownership.SessionName{Request: ownership.RequestID{Endpoint: creator, Number: 7}, Attempt: 1}
				ask := func(p *party) (*transfer.Session, *transfer.Request) {
					rs, err := p.Receive(t.Context(), transfer.ReceiveSpec{Session: session, Region: p.region, From: transfer.FromPeers(sender)})
					must(t, err)
					return rs, <-g.s.requests
				}
				early, first := ask(other)
				late, second := ask(g.r)
				if first.Peer() != "decode-1" || second.Peer() != receiver {
					t.Fatalf("requests of %s and %s", first.Peer(), second.Peer())
				}
				ss, err := second.Send(transfer.SendSpec{Region: g.s.region})
				must(t, err)
				_, err = first.Send(transfer.SendSpec{Region: g.s.region})
				wantErr(t, err, ownership.ErrReject)
				must(t, first.Refuse("the name is taken"))
				must(t, errors.Join(late.Wait(t.Context()), late.Drain(t.Context()), ss.Drain(t.Context())))
				must(t, early.Drain(t.Context()))
				wantAnswer(t, early, "CANCELLED, cause cancel, origin peer")
				g.s.expect("released")
			})
		})
	}
}

// A refusal before either is served refuses one peer alone.
func TestRefusalUnderASharedName(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		squatter := g.party("decode-1")
		attach(t, g.s, g.r)
		attach(t, g.s, squatter)
		session := ownership.SessionName{Request: ownership.RequestID{Endpoint: receiver, Number: 1}, Attempt: 1}
		theirs, err := squatter.Receive(t.Context(), transfer.ReceiveSpec{Session: session, Region: squatter.region, From: transfer.FromPeers(sender)})
		must(t, err)
		squat := <-g.s.requests
		rs, request := g.request()
		if rs.Name() != session {
			t.Fatalf("the receiver asked as %v", rs.Name())
		}
		must(t, squat.Refuse("who are you?"))
		must(t, theirs.Drain(t.Context()))
		wantAnswer(t, theirs, "CANCELLED, cause cancel, origin peer")
		ss, err := request.Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// A request under the name of a session of others is refused at once, alone.
func TestRequestUnderATakenName(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		other := g.party("decode-1")
		attach(t, g.s, g.r)
		attach(t, g.s, other)
		rs, ss := g.begin()
		theirs, err := other.Receive(t.Context(), transfer.ReceiveSpec{Session: rs.Name(), Region: other.region, From: transfer.FromPeers(sender)})
		must(t, err)
		must(t, theirs.Drain(t.Context()))
		wantAnswer(t, theirs, "CANCELLED, cause cancel, origin peer")
		wantAnswer(t, ss, "ACTIVE")
		if n := g.s.Counters().RequestsTurnedAway; n != 1 || len(g.s.requests) != 0 {
			t.Errorf("%d requests turned away, %d handed over; want 1, 0", n, len(g.s.requests))
		}
		synctest.Wait()
		g.fabric.Advance(1)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// A cancel ends what its peer is a party of, and nothing of others, whether that
// is a session or a request that still waits. A receiver is told that it has no
// part in it, so that one that thought otherwise need not wait.
func TestCancelOfWhatBelongsToOthers(t *testing.T) {
	for name, live := range map[string]bool{"live session": true, "waiting request": false} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				stranger := rawPeer(t, g.s, "decode-9", 9)
				rs, request := g.request()
				send := func() *transfer.Session {
					ss, err := request.Send(transfer.SendSpec{Region: g.s.region})
					must(t, err)
					return ss
				}
				var ss *transfer.Session
				if live {
					ss = send()
				}
				named := wire.SessionName{Request: wire.RequestID(rs.Name().Request), Attempt: rs.Name().Attempt}
				stranger.send(wire.CancelSession{Seq: 1, Session: named, From: wire.Send})
				stranger.send(wire.CancelSession{Seq: 2, Session: named, From: wire.Receive})
				if m, want := stranger.next(), (wire.SessionQuiesced{Seq: 1, Session: named}); m != want {
					t.Errorf("the stranger got %v, want %v", m, want)
				}
				stranger.send(wire.Receipt{Received: 1})
				synctest.Wait()
				if n := g.s.Counters().ForeignMessages; n != 2 {
					t.Errorf("%d foreign messages, want 2", n)
				}
				if !live {
					ss = send()
				}
				wantAnswer(t, rs, "ACTIVE")
				wantAnswer(t, ss, "ACTIVE")
				synctest.Wait()
				g.fabric.Advance(1)
				must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))

				// The receiving side has strangers as well.
				stranger2 := rawPeer(t, g.r, "prefill-9", 9)
				rs, request = g.request()
				named = wire.SessionName{Request: wire.RequestID(rs.Name().Request), Attempt: rs.Name().Attempt}
				stranger2.send(wire.CancelSession{Seq: 1, Session: named, From: wire.Send})
				synctest.Wait()
				wantAnswer(t, rs, "ACTIVE")
				must(t, request.Refuse("enough"))
				must(t, rs.Drain(t.Context()))
				for _, r := range []*raw{stranger, stranger2} {
					r.send(wire.Goodbye{})
					<-r.link.Done()
				}
			})
		})
	}
}
