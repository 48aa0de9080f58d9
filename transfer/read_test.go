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
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// offer offers the receiver's whole region and returns what the other side got.
func (g *rig) offer() (*transfer.Session, *transfer.Request) {
	g.t.Helper()
	fill(g.r.arena, 'a')
	rs, err := g.r.Offer(g.t.Context(), transfer.OfferSpec{Region: g.r.region, To: transfer.ToPeers(sender), Label: "chat"})
	must(g.t, err)
	return rs, <-g.s.requests
}

// READ: who has the data publishes where it is, and who wants it fetches it.
func TestReadMovesDataTheOtherWay(t *testing.T) {
	for name, config := range map[string]loop.Config{
		"polled": {Auto: true, BytesPerTick: 4096}, "inside of post": {Auto: true, Inline: true}, "with progress of the source": {Auto: true, PassiveProgress: true},
	} {
		t.Run(name, func(t *testing.T) {
			atOnce(t, config, func(t *testing.T, g *rig) {
				attach(t, g.s, g.r)
				rs, request := g.offer()
				if request.Direction() != backend.Read || request.Len() != size || request.Label() != "chat" {
					t.Errorf("request is %v of %d bytes for %q", request.Direction(), request.Len(), request.Label())
				}
				ss, err := request.Fetch(transfer.FetchSpec{Region: g.s.region})
				must(t, err)
				must(t, errors.Join(ss.Wait(t.Context()), rs.Wait(t.Context())))
				if !bytes.Equal(g.s.arena.Bytes(), g.r.arena.Bytes()) {
					t.Error("what was fetched is not what was offered")
				}
				if rs.Direction() != backend.Read || ss.Direction() != backend.Read || rs.Side() != ownership.Receive || ss.Side() != ownership.Send {
					t.Errorf("sessions are %v of side %v, and %v of side %v", rs.Direction(), rs.Side(), ss.Direction(), ss.Side())
				}
				must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context()), g.r.region.Reuse(), g.s.region.Reuse()))
			})
		})
	}
}

// An application that knows nothing of READ must not overwrite what was offered.
func TestRequestIsAnsweredInItsDirection(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		rs, request := g.offer()
		_, err := request.Send(transfer.SendSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrConfig)
		must(t, request.Refuse("wrong way"))
		must(t, rs.Drain(t.Context()))
		rs, request = g.request()
		_, err = request.Fetch(transfer.FetchSpec{Region: g.s.region})
		wantErr(t, err, transfer.ErrConfig)
		must(t, request.Refuse("wrong way"))
		must(t, rs.Drain(t.Context()))
		if n := g.fabric.Stats().Bytes; n != 0 {
			t.Errorf("%d bytes moved", n)
		}
	})
}

// The sources of reads are shared, their destinations are not, and blocks of a
// destination do not overlap.
func TestReadOwnsItsDestinationAlone(t *testing.T) {
	atOnce(t, loop.Config{BytesPerTick: 1024}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		first, one := g.offer()
		second, two := g.offer() // the same region again
		_, err := one.Fetch(transfer.FetchSpec{Region: g.s.region, Blocks: []transfer.Block{{Len: size / 2}, {Offset: 1, Len: size / 2}}})
		wantErr(t, err, transfer.ErrConfig)
		ss, err := one.Fetch(transfer.FetchSpec{Region: g.s.region})
		must(t, err)
		_, err = two.Fetch(transfer.FetchSpec{Region: g.s.region})
		wantErr(t, err, ownership.ErrRefused)
		_, err = g.r.Receive(t.Context(), transfer.ReceiveSpec{Region: g.r.region, From: transfer.FromPeers(sender)})
		wantErr(t, err, ownership.ErrRefused) // somebody reads it
		must(t, errors.Join(two.Refuse("the region is taken"), second.Drain(t.Context())))
		second, two = g.offer()
		other, err := two.Fetch(transfer.FetchSpec{Region: g.s.extra("other")})
		must(t, err)
		synctest.Wait()
		g.fabric.Advance(size / 1024)
		for _, s := range []*transfer.Session{first, second, ss, other} {
			must(t, errors.Join(s.Wait(t.Context()), s.Drain(t.Context())))
		}
	})
}

// The hazard of a READ: a cancel does not stop bytes from landing in the
// destination, nor the source from being read. Both stay owned until proof.
func TestCancelledReadKeepsBothSides(t *testing.T) {
	within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		must(t, g.fabric.Stall(receiver)) // who has the data
		rs, request := g.offer()
		ss, err := request.Fetch(transfer.FetchSpec{Region: g.s.region})
		must(t, err)
		time.Sleep(time.Second)
		_, err = ss.Cancel()
		must(t, err)
		time.Sleep(wait)
		synctest.Wait()
		wantPhysical(t, ss, ownership.PhysicalInDoubt)
		wantPhysical(t, rs, ownership.PhysicalInDoubt)
		wantErr(t, g.s.region.Reuse(), ownership.ErrRefused)
		wantErr(t, g.r.region.Reuse(), ownership.ErrRefused)
		must(t, g.fabric.Continue(receiver))
		must(t, errors.Join(rs.Drain(t.Context()), ss.Drain(t.Context())))
		wantAnswer(t, ss, "CANCELLED, cause cancel, origin local")
		wantAnswer(t, rs, "CANCELLED, cause cancel, origin peer")
		must(t, errors.Join(g.s.region.Reuse(), g.r.region.Reuse(), g.s.Reopen(), g.r.Reopen()))
		if n := g.fabric.Stats().LateBytes; n != 0 {
			t.Errorf("%d bytes moved through a handle that was let go", n)
		}
	})
}

// A pool's blocks are offered by regions that read, and fetched into by regions
// that write.
func TestReadOfPooledBlocks(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		attach(t, g.s, g.r)
		from, to := g.r.pool(), g.s.pool()
		hold, table := g.r.allocate(from, "prefix", 4, 'p')
		into, target := g.s.allocate(to, "request", 4, '-')
		offered := region(t, from, ownership.Reads, "offer", table)
		rs, err := g.r.Offer(t.Context(), transfer.OfferSpec{Region: offered, To: transfer.ToPeers(sender)})
		must(t, err)
		ss, err := (<-g.s.requests).Fetch(transfer.FetchSpec{Region: region(t, to, ownership.Writes, "fetch", target)})
		must(t, err)
		must(t, errors.Join(ss.Wait(t.Context()), rs.Drain(t.Context()), ss.Drain(t.Context())))
		g.s.wantContent(to, target, 'p')
		unpin(t, from, hold)
		unpin(t, to, into)
		wantFree(t, from, blockCount)
		wantFree(t, to, blockCount)
	})
}
