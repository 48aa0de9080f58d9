// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// An answer is one: what was sent is not refused afterwards, what was refused is not
// sent, and saying it again changes nothing. Each answer makes room for a request.
func TestRequestIsAnsweredOnce(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		var book book
		s := g.party("prefill-1", func(c *transfer.Config) { c.Requests, c.Log = 1, book.logger(0) })
		attach(t, s, g.r)
		ask := func() (*transfer.Session, *transfer.Request) {
			rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers("prefill-1")})
			must(t, err)
			return rs, <-s.requests
		}
		for range 2 {
			rs, request := ask()
			ss, err := request.Send(transfer.SendSpec{Region: s.region})
			must(t, errors.Join(err, request.Refuse("after all")))
			_, err = request.Send(transfer.SendSpec{Region: s.region})
			wantErr(t, err, transfer.ErrAnswered)
			wantText(t, err, "request "+rs.Name().String()+":kv: ")
			must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
			if n := book.count("request refused"); n != 0 {
				t.Errorf("%d refusals in the log", n)
			}
		}
		for i := range 2 {
			rs, request := ask()
			must(t, errors.Join(request.Refuse("no such blocks"), request.Refuse("no such blocks")))
			_, err := request.Send(transfer.SendSpec{Region: s.region})
			wantErr(t, err, transfer.ErrAnswered)
			must(t, rs.Drain(t.Context()))
			wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
			name := rs.Name().String() + ":kv"
			book.want(t, `level=INFO msg="request refused" request=`+name, `peer=decode-0 reason="no such blocks"`)
			s.expect("request " + name + " refused: no such blocks")
			if n := s.count("refused: no such blocks"); n != i+1 {
				t.Errorf("%d notes of %d refusals", n, i+1)
			}
		}
	})
}

// Where a refusal cannot be remembered the request waits on, and can be answered.
func TestRefusalWithoutRoom(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		s := g.party("prefill-1", func(c *transfer.Config) { c.Tombstones, c.PeerTombstones = 1, 1 })
		attach(t, s, g.r)
		var list []*transfer.Session
		for _, r := range []*transfer.Region{g.r.region, g.r.extra("more")} {
			rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: r, From: transfer.FromPeers("prefill-1")})
			must(t, err)
			list = append(list, rs)
		}
		requests := map[ownership.SessionName]*transfer.Request{}
		for range list {
			r := <-s.requests
			requests[r.Session()] = r
		}
		must(t, requests[list[0].Name()].Refuse("no"))
		second := requests[list[1].Name()]
		wantErr(t, second.Refuse("no"), ownership.ErrCapacity)
		s.expect("refused: no")
		if n := s.count("refused: no"); n != 1 {
			t.Errorf("%d refusals are told", n)
		}
		ss, err := second.Send(transfer.SendSpec{Region: s.region})
		must(t, errors.Join(err, list[0].Drain(t.Context()), list[1].Wait(t.Context()), list[1].Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// After an error of Send nothing is owned: no session stays, and the peer hears at once
// that it gets nothing. In a session that others answer already, it is theirs still.
func TestSendThatFails(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: size}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		hold, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: g.s.extra("busy"), From: transfer.FromPeers(receiver)})
		must(t, err)
		busy := (<-g.r.requests)
		taken := g.s.extra("taken")
		other, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Region: taken, From: transfer.FromPeers(receiver)})
		must(t, err)
		before := g.s.Counters()

		rs, request := g.request()
		_, err = request.Send(transfer.SendSpec{Region: taken})
		wantErr(t, err, ownership.ErrRefused)
		if n := g.s.Counters(); n.Sessions != before.Sessions || n.Owners != before.Owners {
			t.Errorf("%d sessions and %d owners are left", n.Sessions, n.Owners)
		}
		must(t, request.Refuse("as it is"))
		must(t, rs.Drain(t.Context()))
		if rs.Answer().Cause == ownership.CauseTimeout {
			t.Errorf("the peer was told nothing: %v", rs.Answer())
		}

		rs, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{From: transfer.FromPeers(sender), Pieces: []transfer.Piece{
			{Name: "a", Region: g.r.region}, {Name: "b", Region: g.r.extra("b")},
		}})
		must(t, err)
		a, b := <-g.s.requests, <-g.s.requests
		ss, err := a.Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		_, err = b.Send(transfer.SendSpec{Region: taken})
		wantErr(t, err, ownership.ErrRefused)
		wantAnswer(t, ss, "ACTIVE")
		again, err := b.Send(transfer.SendSpec{Region: g.s.region}) // it was no answer
		must(t, err)
		if again != ss {
			t.Error("the second piece has a session of its own")
		}
		synctest.Wait()
		g.fabric.Advance(2)
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		must(t, errors.Join(busy.Refuse("no"), (<-g.r.requests).Refuse("no"), hold.Drain(t.Context()), other.Drain(t.Context())))
	})
}

// The blocks of a source may overlap: the same bytes go to two places.
func TestSourceBlocksMayOverlap(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		fill(g.s.arena, 'a')
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, Blocks: []transfer.Block{{Len: 1000}, {Offset: 2000, Len: 1000}}, From: transfer.FromPeers(sender)})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region, Blocks: []transfer.Block{{Len: 1000}, {Offset: 500, Len: 1000}}})
		must(t, err)
		must(t, errors.Join(rs.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		from, to := g.s.arena.Bytes(), g.r.arena.Bytes()
		if string(to[:1000]) != string(from[:1000]) || string(to[2000:3000]) != string(from[500:1500]) {
			t.Error("other bytes have arrived")
		}
	})
}

// A name that is a session's of the other side, or of the other direction, answers no
// request; nothing of that session is touched by it.
func TestNameOfAnotherSession(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		p := rawPeer(t, g.s, "decode-9", 9)
		go p.readAll()
		ask := func(name ownership.SessionName, piece string, seq uint64, d wire.Direction) *transfer.Request {
			claim := p.claim(g.s, name, seq)
			claim.Owner, claim.Accessor, claim.Incarnation, claim.Piece = p.life, sender, wire.Incarnation(g.s.Incarnation()), piece
			p.send(wire.RequestData{Seq: seq, Claim: claim, Direction: d, Segments: []wire.Segment{{Addr: 4096, Len: size}}})
			return <-g.s.requests
		}
		// We ask for data ourselves under the name.
		request := ask(routed, "a", 1, wire.Write)
		rs, err := g.s.Receive(t.Context(), transfer.ReceiveSpec{Session: routed, Region: g.s.region, From: transfer.FromPeers(receiver)})
		must(t, err)
		_, err = request.Send(transfer.SendSpec{Region: g.s.extra("one")})
		wantErr(t, err, ownership.ErrReject)
		wantText(t, err, "session "+routed.String()+": ")
		wantText(t, err, "the name is owned")
		wantAnswer(t, rs, "ACTIVE")
		must(t, errors.Join(request.Refuse("no"), (<-g.r.requests).Refuse("no"), rs.Drain(t.Context())))
		// It reads under a name under which it is written to.
		second := ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: 8}, Attempt: 1}
		write, read := ask(second, "a", 2, wire.Write), ask(second, "b", 3, wire.Read)
		gather := g.local(g.arena(), g.s.arena, loop.Fault{})
		ss, err := write.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
		must(t, err)
		_, err = read.Fetch(transfer.FetchSpec{Region: g.s.extra("two")})
		wantErr(t, err, ownership.ErrReject)
		wantAnswer(t, ss, "ACTIVE")
		_, err = ss.Cancel()
		must(t, err)
		synctest.Wait()
		g.fabric.Advance(2)
		must(t, ss.Drain(t.Context()))
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: "decode-9", Scope: ownership.All}))
	})
}

// What a request's region is for is checked before anything is owned.
func TestAnswerWithABadRegion(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, request := g.request()
		for name, spec := range map[string]transfer.SendSpec{
			"none": {}, "another's": {Region: g.r.region}, "too short": {Region: g.s.region, Blocks: []transfer.Block{{Len: size - 1}}},
			"too long": {Region: g.s.region, Blocks: []transfer.Block{{Len: size}, {Len: 1}}},
		} {
			_, err := request.Send(spec)
			if !errors.Is(err, transfer.ErrConfig) || g.s.Counters().Sessions != 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := request.Fetch(transfer.FetchSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrConfig)
		wantText(t, err, "it asks for a "+backend.Write.String()+": answer it with Send")
		must(t, errors.Join(request.Refuse("no"), rs.Drain(t.Context())))
		rs, request = g.offer()
		_, err = request.Send(transfer.SendSpec{Region: g.s.region})
		wantText(t, err, "it asks for a "+backend.Read.String()+": answer it with Fetch")
		must(t, errors.Join(request.Refuse("no"), rs.Drain(t.Context())))
	})
}
