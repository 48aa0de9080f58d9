// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// The core and the wire have the same numbers for the same things; the
// conversions rely on it.
func TestNumbersOfCoreAndWireAgree(t *testing.T) {
	for s := ownership.Receive; s.IsValid(); s++ {
		if wire.Side(s).String() != s.String() {
			t.Errorf("side %d is %v in the core and %v on the wire", s, s, wire.Side(s))
		}
	}
	for e := ownership.OK; e.IsValid(); e++ {
		if wire.Evidence(e).String() != e.String() {
			t.Errorf("evidence %d is %v in the core and %v on the wire", e, e, wire.Evidence(e))
		}
	}
	for s := backend.Status(0); s < 255; s++ {
		if s.IsValid() && status(s).String() != s.String() {
			t.Errorf("status %d is %v of the backend and %v in the table", s, s, status(s))
		}
		if !s.IsValid() && status(s) != operation.StatusError {
			t.Errorf("invalid status %d is taken for %v, want an ambiguous one", s, status(s))
		}
	}
}

func TestClaimNamesSurviveTheWire(t *testing.T) {
	c := ownership.ClaimName{
		Owner: ownership.Incarnation{1}, Accessor: "a", Incarnation: ownership.Incarnation{2}, Sequence: 3,
		Piece: ownership.PieceName{Piece: "p", Session: ownership.SessionName{Request: ownership.RequestID{Endpoint: "e", Number: 4}, Attempt: 5}},
	}
	if got := coreClaim(wireClaim(c)); got != c {
		t.Errorf("got %+v, want %+v", got, c)
	}
}

func TestPair(t *testing.T) {
	at := func(addrLen ...uint64) (list []backend.Segment) {
		for i := 0; i < len(addrLen); i += 2 {
			list = append(list, backend.Segment{Addr: addrLen[i], Len: addrLen[i+1]})
		}
		return list
	}
	for name, test := range map[string]struct{ local, remote, wantLocal, wantRemote []backend.Segment }{
		"equal cuts": {at(10, 5, 30, 7), at(100, 5, 200, 7), at(10, 5, 30, 7), at(100, 5, 200, 7)},
		"one to two": {at(10, 12), at(100, 5, 200, 7), at(10, 5, 15, 7), at(100, 5, 200, 7)},
		"crossing":   {at(10, 3, 20, 3), at(100, 2, 200, 4), at(10, 2, 12, 1, 20, 3), at(100, 2, 200, 1, 201, 3)},
		"two to one": {at(10, 1, 20, 1), at(100, 2), at(10, 1, 20, 1), at(100, 1, 101, 1)},
		"rest":       {at(10, 1, 20, 9), at(100, 5, 200, 5), at(10, 1, 20, 4, 24, 5), at(100, 1, 101, 4, 200, 5)},
	} {
		l, r, err := pair(test.local, test.remote)
		if err != nil || !reflect.DeepEqual(l, test.wantLocal) || !reflect.DeepEqual(r, test.wantRemote) {
			t.Errorf("%s: got %v, %v, %v", name, l, r, err)
		}
	}
	if _, _, err := pair(at(1, 5), at(1, 6)); err == nil {
		t.Error("lists of different total length were paired")
	}
}

// Effects of several goroutines' calls come to Observe in the order of their
// numbers, notes behind what is ready.
func TestTimelineRestoresTheOrder(t *testing.T) {
	var got []string
	l := newTimeline(func(ev Event) { got = append(got, ev.String()) })
	effect := func(seq uint64) Event {
		return Event{Endpoint: "e", Effect: &ownership.AdmissionChanged{Stamp: ownership.Stamp{Seq: seq}, From: ownership.AdmissionOpen, To: ownership.Admission(seq)}}
	}
	l.effect(effect(3))
	l.effect(effect(2))
	l.note(Event{Endpoint: "e", Note: "early"})
	l.effect(effect(1))
	l.note(Event{Endpoint: "e", Note: "late"})
	stop := make(chan struct{})
	close(stop)
	l.readers[0].run(stop)
	want := []string{"e: early", effect(1).String(), effect(2).String(), effect(3).String(), "e: late"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reader that is slow loses events, which are counted and said, also where none
// follows; another reader loses nothing by it.
func TestTimelineCountsWhatItLoses(t *testing.T) {
	var slow, quick []Event
	l := newTimeline(func(ev Event) { slow = append(slow, ev) }, nil, func(ev Event) { quick = append(quick, ev) })
	const lost = 5
	for range maxBacklog + lost {
		l.note(Event{Endpoint: "e"})
		for _, ev := range l.readers[1].take() {
			l.readers[1].read(ev)
		}
	}
	stop := make(chan struct{})
	close(stop)
	l.readers[0].run(stop)
	last := slow[len(slow)-1]
	if len(slow) != maxBacklog+1 || last.Dropped != lost || last.Endpoint != "e" || !strings.Contains(last.Note, "5 events were lost") {
		t.Errorf("got %d events, the last is %+v", len(slow), last)
	}
	if len(quick) != maxBacklog+lost || l.lost() != lost {
		t.Errorf("the other reader got %d events; %d are counted as lost", len(quick), l.lost())
	}
	for range maxBacklog + lost {
		l.note(Event{})
	}
	l.readers[0].take()
	l.readers[0].push(Event{Note: "after"})
	if next := l.readers[0].take(); len(next) != 1 || next[0].Dropped != 0 {
		t.Errorf("what was said is said again: %+v", next)
	}
}

// A pass that changes nothing allocates nothing.
func TestQuietPassAllocatesNothing(t *testing.T) {
	e := &Endpoint{epoch: time.Now()}
	e.life.Store(&life{backend: quiet{}})
	p := newPoller(e)
	for range 100 {
		p.add(&job{handle: &quietOperation{}, last: backend.Submitted})
	}
	p.collect()
	if n := testing.AllocsPerRun(100, func() { p.collect(); p.poll(); p.pollLocals() }); n != 0 {
		t.Errorf("%v allocations in a pass that brings no news", n)
	}
}

// quiet is a backend whose operations stay in progress.
type quiet struct{ backend.Backend }

type quietOperation struct{ backend.Operation }

func (quiet) Limits() backend.Limits { return backend.Limits{} }

func (quiet) Poll(ops []backend.Operation, out []backend.Observation) {
	for i := range ops {
		out[i].Status = backend.InProgress
	}
}

// What was asked of one life of the endpoint must not enter the backend of the next:
// the peer may have reused the memory by then.
func TestBackendIsForOneLife(t *testing.T) {
	e := &Endpoint{}
	first, second := &life{backend: quiet{}}, &life{backend: quiet{}}
	e.life.Store(first)
	if _, err := e.enterBackend(first); err != nil {
		t.Fatal(err)
	}
	e.leaveBackend()
	e.life.Store(second)
	if _, err := e.enterBackend(first); !errors.Is(err, ErrReincarnated) {
		t.Errorf("an operation of the old life: %v", err)
	}
	if err := e.calls.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, only := range []*life{nil, second} {
		if _, err := e.enterBackend(only); !errors.Is(err, ErrReincarnated) {
			t.Errorf("while it is closed: %v", err)
		}
	}
}

type anyLocal struct{ backend.Local }

// A copy ends at the very moment at which our wait for it runs out: either its answer
// is first, and no doubt is said, or the doubt is, and the answer follows it.
func TestWaitAndAnswerOfACopyExclude(t *testing.T) {
	j := &job{local: anyLocal{}}
	if !j.mayAnswer() || j.wait.CompareAndSwap(awaited, doubting) {
		t.Error("a doubt may follow the answer")
	}
	if !j.mayAnswer() {
		t.Error("a second answer, of a copy that was asked again, is not taken")
	}
	j = &job{local: anyLocal{}}
	j.wait.Store(doubting)
	if j.mayAnswer() {
		t.Error("an answer overtakes the doubt")
	}
	j.wait.Store(doubted)
	if !j.mayAnswer() {
		t.Error("no answer settles the doubt")
	}
	if j = new(job); !j.mayAnswer() {
		t.Error("an operation waits for a doubt, which the table ignores")
	}
}
