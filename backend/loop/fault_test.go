// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
)

// TestHazard is what the whole module is about: an operation answers Error,
// its owner reuses the source, and the peer receives the other content.
func TestHazard(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.Inject("a", Fault{Status: backend.Error, After: 1000, Late: Rest, Delay: 3}))
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.poll(op, backend.Error)
	r.a.fill('x') // reuse without proof
	r.fabric.Advance(3)
	if got := r.b.count('x'); got != 0 {
		t.Errorf("%d late bytes before the delay ended", got)
	}
	r.fabric.Step()
	if a, x := r.b.count('a'), r.b.count('x'); a != 1000 || x != size-1000 {
		t.Errorf("%d bytes of the transfer and %d foreign ones, want 1000 and %d", a, x, size-1000)
	}
	if s := r.fabric.Stats(); s.Bytes != size || s.LateBytes != size-1000 || s.Ticks != 5 {
		t.Errorf("stats %+v", s)
	}
	r.poll(op, backend.Error) // and the answer never gets better
	r.wants(op.Release(), backend.ErrInFlight)
	r.notified(1)
}

// TestLateWriteIntoReusedDestination is the same hazard of a READ: late bytes
// land in memory of ours that another request owns by then.
func TestLateWriteIntoReusedDestination(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.Inject("a", Fault{Status: backend.Error, After: 1000, Late: 500}))
	op := r.post(backend.Read, backend.Submitted)
	r.fabric.Step()
	r.poll(op, backend.Error)
	r.a.fill('x')
	r.fabric.Advance(10)
	if b, x := r.a.count('b'), r.a.count('x'); b != 500 || x != size-500 {
		t.Errorf("%d late bytes, %d of the new owner; want 500 and %d", b, x, size-500)
	}
}

func TestBufferedBytesAreOld(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.Inject("a", Fault{Status: backend.Error, After: 1000, Late: 2000, Buffered: true}))
	op := r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.poll(op, backend.Error)
	r.a.fill('x')
	r.fabric.Advance(10)
	if a, x := r.b.count('a'), r.b.count('x'); a != 3000 || x != 0 {
		t.Errorf("%d bytes of the transfer and %d foreign ones, want 3000 and 0", a, x)
	}
}

// TestAnswers walks every fault that answers, at every place it can appear.
func TestAnswers(t *testing.T) {
	for _, status := range []backend.Status{backend.Error, backend.NotFound, backend.Replaced, backend.Lost} {
		for _, after := range []int64{0, 1, 4096, size - 1, size} {
			r := newRig(t, Config{BytesPerTick: 1000})
			cause := errors.New("the wire caught fire")
			r.must(r.fabric.Inject("a", Fault{Status: status, After: after, Err: cause}))
			posted := backend.Submitted
			if status == backend.Error && after == 0 {
				posted = backend.Error
			}
			op := r.post(backend.Write, posted)
			r.fabric.Advance(20)
			if got := r.b.count('a'); int64(got) != after {
				t.Errorf("%v after %d: %d bytes landed", status, after, got)
			}
			var out [1]backend.Observation
			r.a.Poll([]backend.Operation{op}, out[:])
			if out[0].Status != status || !errors.Is(out[0].Err, cause) {
				t.Errorf("%v after %d: answered %v: %v", status, after, out[0].Status, out[0].Err)
			}
			r.wants(op.Release(), backend.ErrInFlight)
			r.wants(r.a.Close(), backend.ErrInFlight)
			if after == size { // data done, but its owner cannot know
				r.notified(1)
			} else {
				r.notified(0)
			}
		}
	}
}

func TestTransientErrorEndsInLateDone(t *testing.T) {
	for _, after := range []int64{0, 1000, size} {
		r := newRig(t, Config{BytesPerTick: 1000})
		r.must(r.fabric.Inject("a", Fault{Status: backend.Error, After: after, Transient: true}))
		op := r.prepare(backend.Write)
		if o := op.Post(); (o.Status == backend.Error) != (after == 0) {
			t.Fatalf("Post: %v", o.Status)
		}
		r.fabric.Advance(9)
		if after > 0 {
			r.poll(op, backend.Error)
		}
		r.wants(op.Release(), backend.ErrInFlight)
		r.fabric.Step()
		r.poll(op, backend.Done)
		r.must(op.Release())
		if got := r.b.count('a'); got != size {
			t.Errorf("after %d: %d bytes landed", after, got)
		}
		r.notified(1)
	}
}

func TestNotSubmittedMovesNothingEver(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.Inject("a", Fault{Status: backend.NotSubmitted}))
	op := r.post(backend.Write, backend.NotSubmitted)
	r.poll(op, backend.NotSubmitted)
	if o := op.Post(); o.Status != backend.Error {
		t.Errorf("second Post: %v", o.Status)
	}
	r.fabric.Advance(10)
	if r.b.count('b') != size {
		t.Error("bytes moved")
	}
	r.must(op.Release())
	r.must(r.a.Close())
}

func TestLostNotification(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.Inject("a", Fault{DropNotification: true}))
	first, second := r.post(backend.Write, backend.Submitted), r.post(backend.Write, backend.Submitted)
	r.fabric.Step()
	r.poll(first, backend.Done)
	r.poll(second, backend.Done)
	r.notified(1)
	if got := r.fabric.Stats().LostNotifications; got != 1 {
		t.Errorf("%d lost", got)
	}
}

// TestFaultsApplyInOrder: one fault a post, the rest clean.
func TestFaultsApplyInOrder(t *testing.T) {
	r := newRig(t, Config{})
	r.must(r.fabric.Inject("a", Fault{}))
	r.must(r.fabric.Inject("a", Fault{Status: backend.NotSubmitted}))
	r.post(backend.Write, backend.Submitted)
	r.post(backend.Write, backend.NotSubmitted)
	r.post(backend.Write, backend.Submitted)
}

func TestInjectRefusesLies(t *testing.T) {
	r := newRig(t, Config{})
	for _, f := range []Fault{
		{Status: backend.Done},
		{Status: backend.InProgress},
		{Status: 200},
		{Status: backend.NotSubmitted, After: 1},
		{Status: backend.NotSubmitted, Late: 1},
		{Status: backend.NotSubmitted, Transient: true},
		{Status: backend.Error, After: -1},
		{Status: backend.Error, Late: -1},
		{Status: backend.Error, Delay: -1},
		{After: 5},
		{Late: 5},
		{Transient: true},
	} {
		if err := r.fabric.Inject("a", f); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%+v: got %v", f, err)
		}
	}
	r.wants(r.fabric.Inject("nobody", Fault{}), backend.ErrInvalid)
}
