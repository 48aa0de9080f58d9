// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// TestPeerThatGoesOnAsking: each request that finds no room is counted, and is none of
// somebody else; the timeline is told of each doubling, and no more answers wait for who
// does not read them than there is room for.
func TestPeerThatGoesOnAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines told
		e := host(t, lines.timeline)
		defer e.Halt()
		p := bare(e, "x")
		e.mu.Lock()
		e.peers["x"] = p
		e.mu.Unlock()
		l := &Link{peer: p, member: p.member()}
		for n := 1; n <= maxDeclined+6; n++ {
			l.crowded(&Request{endpoint: e, from: p.member(), piece: ownership.PieceName{Session: of("x", uint64(n)), Piece: DefaultPiece}})
			if want := min(n, 64); len(p.out.replies) != want {
				t.Fatalf("after %d requests %d answers wait, want %d", n, len(p.out.replies), want)
			}
		}
		synctest.Wait()
		for _, times := range []string{"1", "2", "4", "8", "16", "32", "64"} {
			if n := lines.count("turned away for want of room: " + times + " of x by now"); n != 1 {
				t.Errorf("%d notes of the request number %s", n, times)
			}
		}
		if n := lines.count("turned away for want of room"); n != 7 || e.Counters().RequestsTurnedAway != maxDeclined+6 {
			t.Errorf("%d notes, %d are counted", n, e.Counters().RequestsTurnedAway)
		}
	})
}

// TestRequestUnderATakenName: it is answered, to its peer alone, and counts as turned away,
// not as a message for somebody else; so does one that finds no room.
func TestRequestUnderATakenName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		e := host(t, d.take, func(c *Config) { c.Requests = 1 })
		defer e.Halt()
		a, b := mustVisit(t, e, "a", 1), mustVisit(t, e, "b", 1)
		if _, err := e.Receive(t.Context(), ReceiveSpec{Session: of("router", 1), Region: mapped(t, e, "kv"), From: FromPeers("b")}); err != nil {
			t.Fatal(err)
		}
		a.asks(e, of("router", 1), "kv", 1)
		if n, m := len(a.told(wire.KindCancelSession)), len(a.told(wire.KindSessionQuiesced)); n != 1 || m != 1 {
			t.Errorf("it is told %d cancels and %d ends", n, m)
		}
		a.asks(e, of("router", 2), "kv", 2)
		a.asks(e, of("router", 3), "kv", 3) // there is no room
		if n, m := len(a.told(wire.KindCancelSession)), len(a.told(wire.KindSessionQuiesced)); n != 1 || m != 0 {
			t.Errorf("it is told %d cancels and %d ends", n, m)
		}
		if n := len(b.told(wire.KindCancelSession)); n != 0 {
			t.Errorf("the other is told %d cancels", n)
		}
		if c := e.Counters(); c.RequestsTurnedAway != 2 || c.ForeignMessages != 0 || len(d.arrived()) != 1 {
			t.Errorf("%d are turned away, %d are somebody else's", c.RequestsTurnedAway, c.ForeignMessages)
		}
	})
}

// TestTimelineGoesOnAfterAnAnswer: what the registry answers by itself has its place in the
// timeline, so that what comes later is told.
func TestTimelineGoesOnAfterAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines told
		e := host(t, lines.timeline, lines.log)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		g.cancel("guest", 7)
		synctest.Wait()
		g.asks(e, of("guest", 7), "kv", 1)
		if _, err := asked(t, e, mapped(t, e, "kv")).Cancel(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := lines.count("CANCELLED"); n == 0 {
			t.Error("what came after it is not told")
		}
		g.asks(e, of("guest", 8), "kv", 2, func(m *wire.RequestData) { m.Metadata = []byte("junk") })
		if n := lines.count("level=ERROR"); n != 0 || lines.count(backend.ErrMetadata.Error()) == 0 {
			t.Errorf("%d lines say that something is wrong", n)
		}
	})
}
