// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// asks is a REQUEST_DATA of a guest.
func (g *guest) asks(e *Endpoint, name ownership.SessionName, piece string, sequence uint64, change ...func(*wire.RequestData)) {
	g.t.Helper()
	m := wire.RequestData{Direction: wire.Write, Segments: []wire.Segment{{Addr: 4096, Len: 4096}}, Claim: wire.ClaimName{
		Owner: g.life, Session: wireSession(name), Piece: piece, Accessor: e.Name(), Incarnation: wire.Incarnation(e.Incarnation()), Sequence: sequence,
	}}
	for _, f := range change {
		f(&m)
	}
	g.next(m)
	synctest.Wait()
}

func of(creator string, n uint64) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: creator, Number: n}, Attempt: 1}
}

// desk is where an endpoint's requests arrive.
type desk struct {
	mu   sync.Mutex
	list []*Request
}

func (d *desk) take(c *Config) {
	c.OnRequest = func(r *Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.list = append(d.list, r)
	}
}

// arrived returns those that have come since the last call.
func (d *desk) arrived() (list []*Request) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	list, d.list = d.list, nil
	return list
}

// TestRequestsThatAreNotForUs: a request names us, in our present life, and a claim of the
// peer's own; any other is no request, and is counted.
func TestRequestsThatAreNotForUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		e := host(t, d.take)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		for n, change := range []func(*wire.RequestData){
			func(m *wire.RequestData) { m.Claim.Accessor = "another" }, func(m *wire.RequestData) { m.Claim.Incarnation[0]++ }, func(m *wire.RequestData) { m.Claim.Owner[0]++ },
		} {
			g.asks(e, of("guest", uint64(n+1)), "kv", uint64(n+1), change)
			if c := e.Counters(); c.ForeignMessages != uint64(n+1) || len(d.arrived()) != 0 || e.requests.n != 0 {
				t.Errorf("case %d: %d foreign messages, %d requests are kept", n, c.ForeignMessages, e.requests.n)
			}
		}
		g.asks(e, of("guest", 4), "kv", 4)
		if list := d.arrived(); len(list) != 1 || list[0].Session() != of("guest", 4) || list[0].Piece() != "kv" || e.Counters().ForeignMessages != 3 {
			t.Errorf("%v", list)
		}
		g.asks(e, of("guest", 4), "kv", 5) // asked again: it waits already
		if list := d.arrived(); len(list) != 0 || e.requests.n != 1 || e.Counters().ForeignMessages != 3 || e.Counters().RequestsTurnedAway != 0 {
			t.Errorf("%v come again", list)
		}
	})
}

// TestRequestsThatNeedNoAnswer: one that its peer has cancelled before, or whose creator's
// watermark has passed, is not handed over, and keeps no room.
func TestRequestsThatNeedNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		var lines told
		e := host(t, d.take, lines.log, func(c *Config) { c.Requests = 1 })
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		g.cancel("guest", 7)
		synctest.Wait()
		g.asks(e, of("guest", 7), "kv", 1)
		if list := d.arrived(); len(list) != 0 || e.requests.n != 0 {
			t.Errorf("a cancelled request is handed over, %d are kept", e.requests.n)
		}
		if list := g.told(wire.KindSessionQuiesced); len(list) == 0 || list[0].(wire.SessionQuiesced).Session != wireSession(of("guest", 7)) {
			t.Errorf("the peer is told %v", list)
		}
		g.send(wire.Receipt{Received: 1, Watermark: 20})
		g.asks(e, of("guest", 19), "kv", 2)
		if list := d.arrived(); len(list) != 0 || e.requests.n != 0 {
			t.Errorf("a request of long ago is handed over, %d are kept", e.requests.n)
		}
		g.asks(e, of("guest", 20), "kv", 3)
		if list := d.arrived(); len(list) != 1 || list[0].Session() != of("guest", 20) {
			t.Errorf("%v arrived", list)
		}
		if n := e.Counters().ForeignMessages; n != 0 {
			t.Errorf("%d foreign messages", n)
		}
	})
}

// TestRequestWithUnusableMetadata: it is refused with the reason, and not handed over.
func TestRequestWithUnusableMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		var lines told
		e := host(t, d.take, lines.timeline)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		g.asks(e, of("guest", 1), "kv", 1, func(m *wire.RequestData) { m.Metadata = []byte("junk") })
		if list := d.arrived(); len(list) != 0 || e.requests.n != 0 {
			t.Errorf("%v arrived, %d are kept", list, e.requests.n)
		}
		if n := lines.count("request ", "refused: the peer's metadata: ", backend.ErrMetadata.Error()); n != 1 {
			t.Errorf("%d notes", n)
		}
		if list := g.told(wire.KindCancelSession); len(list) != 1 {
			t.Errorf("the peer is told %v", list)
		}
	})
}

// TestRequestIsHandedOverOnce: to whoever is there when it arrives, or to the first who
// comes; a later one gets later requests, and none that was answered or is over.
func TestRequestIsHandedOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		var desks [3]desk
		for i := range desks {
			for n := range 3 {
				k := uint64(10*i + n + 1)
				g.asks(e, of("guest", k), "kv", k)
			}
			if i == 0 { // nobody is there, and one of them is over before
				e.OnRequest(nil)
				g.cancel("guest", 2)
				synctest.Wait()
			}
			var c Config
			desks[i].take(&c)
			e.OnRequest(c.OnRequest)
			synctest.Wait()
		}
		for i, want := range []int{2 + 3, 3, 0} { // the first had the second three as well
			if list := desks[i].arrived(); len(list) != want {
				t.Errorf("desk %d has %d requests, want %d", i, len(list), want)
			}
		}
		if e.requests.n != 8 {
			t.Errorf("%d requests are kept, want 8", e.requests.n)
		}
	})
}

// TestSharesOfTheTable: no peer takes the room of others, and all have no more than there is.
func TestSharesOfTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		var lines told
		e := host(t, d.take, lines.log, func(c *Config) { c.Requests, c.PeerRequests = 5, 3 })
		defer e.Halt()
		a, b := mustVisit(t, e, "a", 1), mustVisit(t, e, "b", 1)
		for n := uint64(1); n <= 4; n++ {
			a.asks(e, of("a", n), "kv", n)
		}
		if n := len(d.arrived()); n != 3 || e.Counters().RequestsTurnedAway != 1 {
			t.Errorf("a has %d requests, %d turned away", n, e.Counters().RequestsTurnedAway)
		}
		for n := uint64(1); n <= 3; n++ {
			b.asks(e, of("b", n), "kv", n)
		}
		list := d.arrived()
		if len(list) != 2 || e.Counters().RequestsTurnedAway != 2 {
			t.Fatalf("b has %d requests, %d turned away", len(list), e.Counters().RequestsTurnedAway)
		}
		if n := lines.count(`level=WARN msg="request dropped" request=`, "peer=b"); n != 1 {
			t.Errorf("%d lines", n)
		}
		if err := list[0].Refuse("no"); err != nil {
			t.Fatal(err)
		}
		a.asks(e, of("a", 9), "kv", 9)
		b.asks(e, of("b", 9), "kv", 9)
		if list := d.arrived(); len(list) != 1 || list[0].Peer() != "b" {
			t.Errorf("%v arrived", list)
		}
	})
}

// TestRefusalUnderSharedNames: who is told what of a refusal, and what else it withdraws.
func TestRefusalUnderSharedNames(t *testing.T) {
	name := of("router", 1)
	for what, test := range map[string]struct {
		then            func(*testing.T, *Endpoint, *guest)
		quiesced, waits int
	}{
		"alone":       {func(*testing.T, *Endpoint, *guest) {}, 1, 0},
		"others wait": {func(t *testing.T, e *Endpoint, b *guest) { b.asks(e, name, "kv", 1) }, 0, 1},
		"another session's": {func(t *testing.T, e *Endpoint, b *guest) {
			if _, err := e.Receive(t.Context(), ReceiveSpec{Session: name, Region: mapped(t, e, "kv"), From: FromPeers("b")}); err != nil {
				t.Fatal(err)
			}
		}, 1, 0},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d desk
				e := host(t, d.take)
				defer e.Halt()
				a, b := mustVisit(t, e, "a", 1), mustVisit(t, e, "b", 1)
				a.asks(e, name, "kv", 1)
				a.asks(e, name, "more", 2)
				list := d.arrived()
				r, more := list[0], list[1]
				if r.Piece() == "more" {
					r, more = more, r
				}
				test.then(t, e, b)
				if err := r.Refuse("no"); err != nil {
					t.Fatal(err)
				}
				cancels, quiesced := a.told(wire.KindCancelSession), a.told(wire.KindSessionQuiesced)
				if len(cancels) != 1 || len(quiesced) != test.quiesced || cancels[0].(wire.CancelSession).From != wire.Send || cancels[0].(wire.CancelSession).Session != wireSession(name) {
					t.Errorf("it is told %v and %v", cancels, quiesced)
				}
				if n := len(b.told(wire.KindCancelSession)) + len(b.told(wire.KindSessionQuiesced)); n != 0 {
					t.Errorf("the other is told %d messages", n)
				}
				if what == "alone" { // the peer's own cancel ends the rest
					a.cancel("router", 1)
					synctest.Wait()
				}
				select {
				case <-more.Withdrawn():
				default:
					t.Error("the other request of the same peer waits still")
				}
				select {
				case <-r.Withdrawn():
					t.Error("the refused request counts as withdrawn")
				default:
				}
				if e.requests.n != test.waits {
					t.Errorf("%d requests are kept, want %d", e.requests.n, test.waits)
				}
			})
		})
	}
}

// TestWhoMayCancel: a party of a session, whoever asks under a name or created it, and
// anybody a name of which nothing is known.
func TestWhoMayCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		e := host(t, d.take)
		defer e.Halt()
		a, b := mustVisit(t, e, "a", 1), mustVisit(t, e, "b", 1)
		may := func(name ownership.SessionName, want ...ownership.Accessor) {
			t.Helper()
			var got []string
			for _, peer := range []ownership.Accessor{"a", "b", "router"} {
				if e.mayCancel(name, peer) {
					got = append(got, string(peer))
				}
			}
			var list []string
			for _, w := range want {
				list = append(list, string(w))
			}
			if strings.Join(got, " ") != strings.Join(list, " ") {
				t.Errorf("%v: %v may, want %v", name, got, want)
			}
		}
		may(of("router", 1), "a", "b", "router")
		a.asks(e, of("router", 1), "kv", 1)
		may(of("router", 1), "a", "router")
		b.asks(e, of("router", 1), "kv", 1)
		may(of("router", 1), "a", "b", "router")
		s, err := e.Receive(t.Context(), ReceiveSpec{Session: of("router", 2), Region: mapped(t, e, "kv"), From: FromPeers("b")})
		if err != nil {
			t.Fatal(err)
		}
		may(of("router", 2), "b")
		if _, err := s.Cancel(); err != nil {
			t.Fatal(err)
		}
		may(of("router", 2), "a", "b", "router")
		r := &Request{from: ownership.Member{Accessor: "a", Incarnation: ownership.Incarnation{1}, Sequence: 5}}
		for m, want := range map[ownership.Member]bool{
			{Accessor: "a", Incarnation: ownership.Incarnation{1}}: true, {Accessor: "a", Incarnation: ownership.Incarnation{2}}: false, {Accessor: "b", Incarnation: ownership.Incarnation{1}}: false,
		} {
			if r.isFrom(m) != want {
				t.Errorf("it is from %v: %v", m, !want)
			}
		}
	})
}

// TestSerialRunsOneAfterTheOther: in the order in which they were given.
func TestSerialRunsOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s serial
		var got []int
		busy := false
		for n := range 10 {
			s.do(func() {
				if busy {
					t.Error("two run at once")
				}
				busy = true
				time.Sleep(time.Second)
				busy = false
				got = append(got, n)
			})
			if s.idle() {
				t.Error("it is idle with work to do")
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait() // what they wrote is seen
		for n := range got {
			if got[n] != n || len(got) != 10 {
				t.Fatalf("%v", got)
			}
		}
		if !s.idle() {
			t.Error("it is not idle without work")
		}
	})
}

// TestClosedSessionCountsNothing: what is told of its claims after its close is counted
// no more.
func TestClosedSessionCountsNothing(t *testing.T) {
	s := &Session{}
	for i, step := range []struct {
		of   func() int64
		told int64
	}{
		{func() int64 { return s.expose(1) }, 1}, {func() int64 { return s.expose(1) }, 1}, {func() int64 { return s.expose(-1) }, -1},
		{s.cover, -1}, {func() int64 { return s.expose(-1) }, 0}, {func() int64 { return s.expose(1) }, 0},
	} {
		if got := step.of(); got != step.told {
			t.Errorf("step %d: %d, want %d", i, got, step.told)
		}
	}
}

// TestNotificationThatIsKept: it is of its claim alone, whatever else happens to the session.
func TestNotificationThatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		mustVisit(t, e, "guest", 1)
		s := asked(t, e, mapped(t, e, "kv"))
		c, _ := claimOf(t, s)
		e.notified(e.now(), backend.Notification{Peer: "guest", Message: wire.Notification(wireClaim(c))})
		if _, err := s.Cancel(); err != nil {
			t.Fatal(err)
		}
		if len(s.ended) != 1 {
			t.Errorf("%d are kept", len(s.ended))
		}
		if _, now := claimOf(t, s); now.String() != "PUBLISHED" {
			t.Errorf("the claim is %v", now)
		}
	})
}
