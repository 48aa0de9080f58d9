// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// TestEventSaysWhatItIsAbout: an event has its effect's own time, and the session and the
// side of each effect that is about one.
func TestEventSaysWhatItIsAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		began := time.Now()
		name := e.sessionName(ownership.SessionName{})
		s, err := e.adopt(name, ownership.Send, backend.Write)
		if err != nil {
			t.Fatal(err)
		}
		piece := ownership.PieceName{Session: name, Piece: "p"}
		stamp := ownership.Stamp{Seq: 7, At: time.Hour}
		message := ownership.Outgoing{Message: &ownership.SessionQuiesced{Name: name}}
		for _, f := range []ownership.Effect{
			&ownership.GateMoved{Stamp: stamp, Piece: piece}, &ownership.PieceEnded{Stamp: stamp, Piece: piece}, &ownership.PieceInvalid{Stamp: stamp, Piece: piece},
			&ownership.Released{Stamp: stamp, Piece: piece}, &ownership.SessionEnded{Stamp: stamp, Session: name}, &ownership.SessionSettled{Stamp: stamp, Session: name},
			&ownership.SessionUnsettled{Stamp: stamp, Session: name}, &ownership.SessionClosed{Stamp: stamp, Session: name},
			&ownership.Queued{Stamp: stamp, Outgoing: message}, &ownership.TakenBack{Stamp: stamp, Outgoing: message},
		} {
			ev := e.event(e.owned(f), f)
			if ev.Session != name || ev.Side != ownership.Send || ev.Endpoint != "host" || ev.Elapsed != time.Hour || !ev.At.Equal(began.Add(time.Hour)) || ev.Effect != f {
				t.Errorf("%T: %+v", f, ev)
			}
		}
		f := &ownership.AdmissionChanged{Stamp: stamp}
		if ev := e.event(e.owned(f), f); ev.Session != (ownership.SessionName{}) || ev.Side != 0 || ev.Elapsed != time.Hour {
			t.Errorf("%+v", ev)
		}
		s.leave()
		e.forget(name)
	})
}

// TestTimesOfATimeline: what Observe gets of a transfer has the times at which it was, to
// which Elapsed is the clock.
func TestTimesOfATimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var list []Event
		e := host(t, func(c *Config) { c.Observe = func(ev Event) { list = append(list, ev) } })
		g := mustVisit(t, e, "guest", 1)
		time.Sleep(time.Second)
		s := asked(t, e, mapped(t, e, "kv"))
		time.Sleep(time.Second)
		c, _ := claimOf(t, s)
		g.next(wire.Result{Claim: wireClaim(c), Evidence: wire.OK})
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e.Elapsed() != 2*time.Second {
			t.Errorf("%v have elapsed", e.Elapsed())
		}
		e.Halt()
		at := map[string]time.Duration{}
		for i, ev := range list {
			if !ev.At.Equal(began.Add(ev.Elapsed)) || i > 0 && ev.Elapsed < list[i-1].Elapsed {
				t.Errorf("%v: at %v, elapsed %v", ev, ev.At, ev.Elapsed)
			}
			switch f := ev.Effect.(type) {
			case *ownership.ClaimMoved:
				at[f.To.String()] = ev.Elapsed
			case nil:
				at[ev.Note] = ev.Elapsed
			}
		}
		for what, want := range map[string]time.Duration{claim.Published.String(): time.Second, claim.Drained.String(): 2 * time.Second, "stream to guest attached": 0} {
			if got, is := at[what]; !is || got != want {
				t.Errorf("%s was at %v, %v; want %v", what, got, is, want)
			}
		}
	})
}

// TestNobodyLooks: without a reader nothing is kept for one, and with one nothing that it
// has had.
func TestNobodyLooks(t *testing.T) {
	ev := func(seq uint64) Event {
		return Event{Effect: &ownership.AdmissionChanged{Stamp: ownership.Stamp{Seq: seq}}}
	}
	l := newTimeline(nil, nil)
	for seq := uint64(9); seq > 0; seq-- {
		l.effect(ev(seq))
	}
	l.note(Event{Note: "x"})
	if len(l.early) != 0 || len(l.readers) != 0 || l.next != 1 {
		t.Errorf("%d events are kept", len(l.early))
	}
	l = newTimeline(func(Event) {})
	for seq := uint64(1); seq < 10; seq++ {
		l.effect(ev(seq))
	}
	if len(l.early) != 0 || len(l.readers[0].take()) != 9 {
		t.Errorf("%d events are kept", len(l.early))
	}
}

// TestReaderThatLosesOne: a single event that is lost is said as well.
func TestReaderThatLosesOne(t *testing.T) {
	r := &reader{wake: newSignal()}
	for n := range maxBacklog + 1 {
		r.push(Event{Elapsed: time.Duration(n)})
	}
	if list := r.take(); len(list) != maxBacklog+1 || list[maxBacklog].Dropped != 1 || list[maxBacklog].Elapsed != maxBacklog-1 || !strings.HasPrefix(list[maxBacklog].Note, "1 events were lost") || r.lost != 1 {
		t.Errorf("%d events, %d lost", len(list), r.lost)
	}
	for range maxBacklog {
		r.push(Event{})
	}
	if list := r.take(); len(list) != maxBacklog || list[0].Dropped != 0 || r.lost != 1 {
		t.Errorf("%d events, %d lost", len(list), r.lost)
	}
}

// TestLastEventsAreDelivered: what comes while the reader has its last is delivered too.
func TestLastEventsAreDelivered(t *testing.T) {
	for range 50 {
		var got []string
		var r *reader
		r = &reader{wake: newSignal(), read: func(ev Event) {
			if got = append(got, ev.Note); ev.Note == "first" {
				r.push(Event{Note: "second"})
			}
		}}
		r.push(Event{Note: "first"})
		stop := make(chan struct{})
		close(stop)
		r.run(stop)
		if strings.Join(got, " ") != "first second" {
			t.Fatalf("got %q", got)
		}
	}
}

// TestLogSaysWhatIsLost: a line of the log tells how many have no line.
func TestLogSaysWhatIsLost(t *testing.T) {
	var lines told
	c := Config{}
	lines.log(&c)
	c.logged()(Event{Endpoint: "e", Dropped: 1, Note: "note", Side: ownership.Receive})
	c.logged()(Event{Endpoint: "e", Effect: &ownership.GateMoved{To: gate.Publishing}})
	if n := lines.count(`level=WARN msg="events lost, since the log handler was slow" endpoint=e events=1`); n != 1 {
		t.Errorf("%d lines", n)
	}
	if n := lines.count("events lost"); n != 1 {
		t.Errorf("%d lines that something was lost", n)
	}
}

// TestDefaultsOfAConfig: the documented ones.
func TestDefaultsOfAConfig(t *testing.T) {
	c := Config{Name: "e", Backend: idle{}}
	if err := c.validate(); err != nil || c.Peers != 1<<14 || c.OperationWait != 30*time.Second || c.HandshakeTimeout != 10*time.Second {
		t.Errorf("%+v, %v", c, err)
	}
	before := uint64(time.Now().UnixMicro())
	c = Config{Name: "e", Backend: idle{}}
	if err := c.validate(); err != nil || c.FirstRequest < before || c.FirstRequest > uint64(time.Now().UnixMicro()) {
		t.Errorf("the first request is %d, want one of the wall clock", c.FirstRequest)
	}
	c = Config{Name: "e", Backend: idle{}, FirstRequest: 5, Peers: 6, Agent: "a", OperationWait: 1, HandshakeTimeout: 2, Requests: 3, PeerRequests: 4}
	if err := c.validate(); err != nil || c.FirstRequest != 5 || c.Peers != 6 || c.Agent != "a" || c.OperationWait != 1 || c.HandshakeTimeout != 2 || c.Requests != 3 || c.PeerRequests != 4 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestNumbersOfRequests: an endpoint numbers its own from FirstRequest on; what the caller
// says of a name stays as it is.
func TestNumbersOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.FirstRequest = 41 })
		defer e.Halt()
		own := func(n uint64, attempt uint32) ownership.SessionName {
			return ownership.SessionName{Request: ownership.RequestID{Endpoint: "host", Number: n}, Attempt: attempt}
		}
		router := ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: 3}, Attempt: 2}
		for _, test := range []struct{ given, want ownership.SessionName }{
			{ownership.SessionName{}, own(41, 1)}, {ownership.SessionName{}, own(42, 1)}, {router, router},
			{ownership.SessionName{Request: router.Request}, ownership.SessionName{Request: router.Request, Attempt: 1}},
			{ownership.SessionName{Attempt: 5}, own(43, 5)},
		} {
			if got := e.sessionName(test.given); got != test.want {
				t.Errorf("%v is %v, want %v", test.given, got, test.want)
			}
		}
	})
}

// TestExposureIsTaken: the poller counts the claims by which peers may be at work, and
// comes to rest when there is none.
func TestExposureIsTaken(t *testing.T) {
	for _, test := range []struct {
		state claim.State
		want  int64
	}{{claim.Unpublished, 0}, {claim.SafeUnpublished, 0}, {claim.Published, 1}, {claim.InDoubt, 1}, {claim.FailedQuiesced, 0}, {claim.Drained, 0}} {
		if n := exposure(test.state); n != test.want {
			t.Errorf("%v counts %d", test.state, n)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		for i, says := range []wire.Evidence{wire.OK, wire.Failed, wire.InDoubt} {
			s := asked(t, e, mapped(t, e, says.String()))
			if n := e.poller.passive.Load(); n != 1 {
				t.Errorf("%d claims, want 1", n)
			}
			c, _ := claimOf(t, s)
			g.next(wire.Result{Claim: wireClaim(c), Evidence: says})
			synctest.Wait()
			want := int64(i / 2)
			if n := e.poller.passive.Load(); n != want {
				t.Errorf("after %v %d claims, want %d", says, n, want)
			}
		}
	})
}
