// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A peer that cancels more than the tables hold loses its stream, not a cancel:
// what was not taken in is not confirmed, and comes again.
func TestFloodOfCancels(t *testing.T) {
	const tombstones, waiting = 10, 256
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		s := g.party("prefill-1", func(c *transfer.Config) { c.Tombstones, c.PeerTombstones = tombstones, tombstones })
		p := rawPeer(t, s, "decode-9", 1)
		go p.readAll()
		for i := range uint64(2 * waiting) {
			name := wire.SessionName{Request: wire.RequestID{Endpoint: p.name, Number: i + 1}, Attempt: 1}
			if p.stream.Send(t.Context(), wire.CancelSession{Seq: i + 1, Session: name, From: wire.Receive}) != nil {
				break
			}
		}
		<-p.link.Done()
		wantErr(t, p.link.Err(), ownership.ErrCapacity)

		again, result := rawHello(t, s, wire.Hello{Version: wire.Current, Endpoint: p.name, Incarnation: p.life, Watermark: math.MaxUint64})
		must(t, (<-result).err)
		if got, want := again.recv(), (wire.Receipt{Received: tombstones + waiting}); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		again.send(wire.Receipt{})
		again.send(wire.Goodbye{})
	})
}

// A request decides where the peer's bytes go, not where anybody else's do.
func TestRequestForMemoryThatIsNotThePeers(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		p := rawPeer(t, g.s, "decode-9", 1)
		go p.readAll()
		agent, err := g.fabric.Agent(p.name)
		must(t, err)
		metadata, err := agent.Metadata()
		must(t, err)
		fill(g.r.arena, 'r')
		fill(g.s.arena, 's')
		for i, addr := range []uint64{1, math.MaxUint64 - size, uint64(g.s.arena.Addr()), uint64(g.r.arena.Addr())} {
			session := ownership.SessionName{Request: ownership.RequestID{Endpoint: p.name, Number: uint64(i + 1)}, Attempt: 1}
			claim := p.claim(g.s, session, 1)
			claim.Owner, claim.Accessor, claim.Incarnation = p.life, sender, wire.Incarnation(g.s.Incarnation())
			p.send(wire.RequestData{Seq: uint64(i + 1), Claim: claim, Direction: wire.Write, Segments: []wire.Segment{{Addr: addr, Len: size}}, Metadata: metadata})
			s, err := (<-g.s.requests).Send(transfer.SendSpec{Region: g.s.region})
			must(t, err)
			var failed *transfer.OutcomeError
			if err := s.Wait(t.Context()); !errors.As(err, &failed) || failed.Answer.Cause != ownership.CauseNotSubmitted {
				t.Errorf("%#x: got %v", addr, err)
			}
			must(t, s.Drain(t.Context()))
		}
		if g.r.arena.Bytes()[0] != 'r' || g.s.arena.Bytes()[0] != 's' {
			t.Error("bytes were moved")
		}
		must(t, g.s.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(p.name), Scope: ownership.All}))
	})
}

// Numbers out of all order change nothing of what is owned. After a gap the
// stream ends, and what is missing comes on the next one.
func TestWildNumbers(t *testing.T) {
	atOnce(t, loop.Config{}, func(t *testing.T, g *rig) {
		p := rawPeer(t, g.r, "prefill-9", 1)
		go p.readAll()
		rs, err := g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(p.name)})
		must(t, err)
		result := func(seq, sequence uint64) wire.Result {
			return wire.Result{Seq: seq, Claim: p.claim(g.r, rs.Name(), sequence), Evidence: wire.OK}
		}
		p.send(result(1, math.MaxUint64)) // stale: not this claim
		for _, gap := range []uint64{3, math.MaxUint64} {
			p.send(result(gap, 1)) // the right claim, but something was lost before it
			<-p.link.Done()
			wantErr(t, p.link.Err(), transfer.ErrProtocol)
			wantPhysical(t, rs, ownership.PhysicalDraining)
			wantErr(t, g.r.region.Reuse(), ownership.ErrRefused)
			again, attached := rawHello(t, g.r, wire.Hello{Version: wire.Current, Endpoint: p.name, Incarnation: p.life})
			got := <-attached
			must(t, got.err)
			again.link = got.link
			if m, want := again.recv(), (wire.Receipt{Received: 1}); m != want {
				t.Errorf("it resumes at %v, want %v", m, want)
			}
			again.send(wire.Receipt{Received: 1})
			p = again
			go p.readAll()
		}
		p.send(result(1, 1)) // under a number of long ago
		synctest.Wait()
		wantPhysical(t, rs, ownership.PhysicalDraining)
		p.send(result(2, 1))
		must(t, rs.Wait(t.Context()))
		must(t, rs.Drain(t.Context()))
		must(t, g.r.Fence(ownership.FenceSpec{Accessor: ownership.Accessor(p.name), Scope: ownership.All}))
	})
}
