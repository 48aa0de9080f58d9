// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// Key-value and auxiliary pieces in one call: the sender gets a request for each,
// answers them in any order, and both sessions succeed with the last one.
func TestSeveralPiecesInOneSession(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		fill(g.s.arena, 'a')
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{
			From: transfer.FromPeers(sender), Label: "chat",
			Pieces: []transfer.Piece{
				{Name: "layer 0", Kind: "kv", Region: g.r.region},
				{Name: "logits", Kind: "aux", Region: g.r.extra("aux"), Blocks: []transfer.Block{{Len: 512}}, Label: "tail"},
			},
		})
		must(t, err)
		requests := map[string]*transfer.Request{}
		for range 2 {
			r := <-g.s.requests
			requests[r.Piece()] = r
		}
		aux, kv := requests["logits"], requests["layer 0"]
		if aux.Label() != "tail" || kv.Label() != "chat" || aux.Session() != kv.Session() || aux.Pieces() != 2 || aux.Len() != 512 {
			t.Errorf("requests are %q of %d and %q", aux.Label(), aux.Pieces(), kv.Label())
		}
		ss, err := aux.Send(transfer.SendSpec{Region: g.s.region, Blocks: []transfer.Block{{Len: 512}}})
		must(t, err)
		synctest.Wait()
		wantAnswer(t, rs, "ACTIVE")
		wantAnswer(t, ss, "ACTIVE")
		again, err := kv.Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		if again != ss {
			t.Error("the second piece has a session of its own")
		}
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context())))
		if !bytes.Equal(g.s.arena.Bytes(), g.r.arena.Bytes()) {
			t.Error("the piece is not what was sent")
		}
		state, _ := rs.State()
		if len(state.Pieces) != 2 || state.Pieces[0].Kind != "kv" || state.Pieces[1].Kind != "aux" {
			t.Errorf("pieces are %+v", state.Pieces)
		}
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// A reservation is taken whole or not at all: one region that is owned refuses
// both pieces, nobody hears of any, and nothing is left behind.
func TestPiecesAreAllOrNothing(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		busy, aux := g.r.extra("busy"), g.r.extra("aux")
		hold, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: busy, From: transfer.FromPeers(sender)})
		must(t, err)
		held := <-g.s.requests
		both := []transfer.Piece{{Name: "a", Region: aux}, {Name: "b", Region: busy}}
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{From: transfer.FromPeers(sender), Pieces: both})
		wantErr(t, err, ownership.ErrRefused)

		open, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
		must(t, err)
		wantErr(t, open.Add(t.Context(), both...), ownership.ErrRefused)
		must(t, aux.Reuse())
		synctest.Wait()
		if n := len(g.s.requests); n != 1 {
			t.Errorf("%d requests arrived, want that of the open session", n)
		}
		for _, s := range []*transfer.Session{hold, open} {
			_, err := s.Cancel()
			must(t, err)
		}
		must(t, errors.Join(held.Refuse("over"), (<-g.s.requests).Refuse("over"), hold.Drain(t.Context()), open.Drain(t.Context())))
	})
}

// An open session takes pieces later; a gap is no completion, AddLast is, and the
// sender's session then completes by itself.
func TestPiecesThatComeLater(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		var ss *transfer.Session
		answer := func(want int) {
			t.Helper()
			r := <-g.s.requests
			if r.Pieces() != want {
				t.Errorf("piece %s is one of %d, want %d", r.Piece(), r.Pieces(), want)
			}
			s, err := r.Send(transfer.SendSpec{Region: g.s.region})
			must(t, err)
			if ss != nil && s != ss {
				t.Error("another session answers")
			}
			ss = s
		}
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Piece: "0", Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
		must(t, err)
		answer(0)
		synctest.Wait()
		wantAnswer(t, rs, "ACTIVE")
		must(t, rs.Add(t.Context(), transfer.Piece{Name: "1", Region: g.r.extra("one")}))
		answer(0)
		must(t, rs.AddLast(t.Context(), transfer.Piece{Name: "2", Region: g.r.extra("two")}))
		answer(3)
		must(t, errors.Join(rs.Wait(t.Context()), ss.Wait(t.Context())))
		wantErr(t, rs.Add(t.Context(), transfer.Piece{Name: "3", Region: g.r.extra("three")}), ownership.ErrClosed)
		wantErr(t, ss.Add(t.Context(), transfer.Piece{Region: g.s.region}), transfer.ErrConfig)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// Without a last piece both applications say that it is over, each for its side.
func TestOpenSessionsAreCompletedByHand(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
		must(t, err)
		ss, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		synctest.Wait()
		wantAnswer(t, rs, "ACTIVE")
		wantAnswer(t, ss, "ACTIVE")
		must(t, errors.Join(rs.Complete(), rs.Wait(t.Context())))
		wantAnswer(t, ss, "ACTIVE")
		must(t, errors.Join(ss.Complete(), ss.Complete(), ss.Wait(t.Context())))
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
	})
}

// A piece that is refused fails the session on both sides, the pieces that are
// under way stay owned until proof, and requests of it need no answer any more.
func TestRefusedPieceEndsTheSession(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: size}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		pieces := []transfer.Piece{{Name: "0", Region: g.r.region}, {Name: "1", Region: g.r.extra("one")}, {Name: "2", Region: g.r.extra("two")}}
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{From: transfer.FromPeers(sender), Pieces: pieces})
		must(t, err)
		list := []*transfer.Request{<-g.s.requests, <-g.s.requests, <-g.s.requests}
		ss, err := list[0].Send(transfer.SendSpec{Region: g.s.region})
		must(t, err)
		synctest.Wait()
		must(t, list[1].Refuse("not here"))
		<-rs.Done()
		<-ss.Done()
		wantPhysical(t, ss, ownership.PhysicalDraining)
		wantErr(t, rs.Close(), ownership.ErrRefused)
		<-list[2].Withdrawn()
		_, err = list[2].Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrAnswered)
		g.fabric.Advance(2)
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		for _, s := range []*transfer.Session{rs, ss} {
			if a := s.Answer(); a.Outcome != outcome.Cancelled {
				t.Errorf("%v side is %v", s.Side(), a)
			}
		}
	})
}

// Two of three candidates write. Which ones is known when two have reported; the
// third, which never began, is excused by that.
func TestCountedCohort(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		names := []string{sender}
		parties := []*party{g.s}
		for i := range 2 {
			names = append(names, fmt.Sprint("prefill-", i+1))
			parties = append(parties, g.party(names[i+1]))
		}
		for _, p := range parties {
			attach(t, p, g.r)
		}
		part := func(i int) []transfer.Block { return []transfer.Block{{Offset: uint64(i) * 1024, Len: 1024}} }
		spec := transfer.ReceiveSpec{Region: g.r.region, Count: 2}
		for i, name := range names {
			spec.From = append(spec.From, transfer.Accessor{Peer: name, Blocks: part(i)})
		}
		rs, err := g.r.Receive(t.Context(), spec)
		must(t, err)
		for i, p := range parties {
			fill(p.arena, byte('a'+i))
			r := <-p.requests
			if i == 1 { // not chosen, and says nothing
				continue
			}
			ss, err := r.Send(transfer.SendSpec{Region: p.region, Blocks: part(i)})
			must(t, err)
			must(t, errors.Join(ss.Wait(t.Context()), ss.Drain(t.Context())))
		}
		must(t, rs.Wait(t.Context()))
		state, _ := rs.State()
		if p := state.Pieces[0]; p.Count != 2 || !p.Selected {
			t.Errorf("count %d, selected %v", p.Count, p.Selected)
		}
		for _, i := range []int{0, 2} {
			if at := i * 1024; !bytes.Equal(g.r.arena.Bytes()[at:at+1024], parties[i].arena.Bytes()[at:at+1024]) {
				t.Errorf("the part of %s did not arrive", names[i])
			}
		}
		must(t, rs.Drain(t.Context()))
	})
}

func TestPiecesThatAreRefused(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from := transfer.FromPeers(sender)
		piece := transfer.Piece{Region: g.r.region}
		for name, test := range map[string]struct {
			spec transfer.ReceiveSpec
			want error
		}{
			"both ways":     {transfer.ReceiveSpec{Region: g.r.region, From: from, Pieces: []transfer.Piece{piece}}, transfer.ErrConfig},
			"nobody":        {transfer.ReceiveSpec{Pieces: []transfer.Piece{piece}}, transfer.ErrConfig},
			"no region":     {transfer.ReceiveSpec{From: from, Pieces: []transfer.Piece{{}}}, transfer.ErrConfig},
			"one twice":     {transfer.ReceiveSpec{From: from, Pieces: []transfer.Piece{piece, {Region: g.r.extra("more")}}}, ownership.ErrReject},
			"count too big": {transfer.ReceiveSpec{From: from, Region: g.r.region, Count: 2}, ownership.ErrInvalidArgument},
		} {
			_, err := g.r.Receive(t.Context(), test.spec)
			if !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
		if n := g.r.Counters(); n.Sessions != 0 || n.Owners != 0 {
			t.Errorf("%d sessions and %d owners are left", n.Sessions, n.Owners)
		}
	})
}

// Another call adds a piece while the last ones are added: it comes too late, or is in
// the session, which is complete all the same and has an end.
func TestAddBesideAddLast(t *testing.T) {
	for range 200 {
		atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
			attach(t, g.s, g.r)
			go func() {
				for {
					select {
					case r := <-g.s.requests:
						if s, err := r.Send(transfer.SendSpec{Region: g.s.region, Blocks: []transfer.Block{{Len: r.Len()}}}); err == nil {
							go func() { _ = s.Drain(t.Context()) }()
						} else {
							_ = r.Refuse(err.Error())
						}
					case <-t.Context().Done():
						return
					}
				}
			}()
			rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Piece: "0", Region: g.r.region, From: transfer.FromPeers(sender), Open: true})
			must(t, err)
			more, last := g.r.extra("more"), g.r.extra("last")
			go func() { _ = rs.Add(t.Context(), transfer.Piece{Name: "more", Region: more}) }()
			must(t, rs.AddLast(t.Context(), transfer.Piece{Name: "last", Region: last}))
			begin := time.Now()
			must(t, rs.Drain(t.Context()))
			if time.Since(begin) >= timeout {
				t.Errorf("the session had no end but its timeout: %v", rs.Answer())
			}
		})
	}
}
