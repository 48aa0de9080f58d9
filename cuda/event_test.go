// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cuda"
	"github.com/kvxfer/kvxfer/cuda/cudatest"
)

// The table of evidence: success is proof, not ready is none, and anything else
// is doubt that stays, whatever the driver says later.
func TestEveryAnswerOfEventQuery(t *testing.T) {
	for _, code := range []int{0, 600, 1, 2, 3, 4, 201, 214, 220, 400, 700, 702, 709, 710, 714, 719, 721, 801, 911, 999, 12345} {
		for _, how := range []string{"query", "poll"} {
			t.Run(fmt.Sprintf("%d %s", code, how), func(t *testing.T) {
				r := newRig(t)
				_, e, device := r.recorded(t)
				ask := func() cuda.EventState {
					if how == "query" {
						state, _ := e.Query()
						return state
					}
					states := []cuda.EventState{0}
					ok(t, r.ctx.Poll([]*cuda.Event{e}, states))
					return states[0]
				}
				r.Step(2)
				if code != 0 {
					r.Fail("cuEventQuery", code, 0, 1)
				}
				want := map[int]cuda.EventState{0: cuda.EventDone, 600: cuda.EventPending}[code]
				if want == 0 {
					want = cuda.EventInDoubt
				}
				if state := ask(); state != want {
					t.Fatalf("state %v, want %v", state, want)
				}
				// From here on the driver says success: the work has ended.
				later := ask()
				doubted := want == cuda.EventInDoubt
				if later == cuda.EventDone == doubted {
					t.Errorf("later it is %v", later)
				}
				err := r.ctx.Err()
				if (err != nil) != doubted || doubted && (!errors.Is(err, cuda.ErrInDoubt) || !errors.Is(err, cuda.Result(code))) {
					t.Errorf("context: %v", err)
				}
				if err := device.Free(); (err == nil) == doubted {
					t.Errorf("free: %v", err)
				}
			})
		}
	}
}

// A device error puts everything of its context in doubt, and nothing of another's.
func TestStickyErrorIsOfItsContext(t *testing.T) {
	r := newRig(t)
	s, e, _ := r.recorded(t)
	finished := got(r.ctx.NewEvent())(t)
	r.Step(2)
	ok(t, finished.Record(s))
	r.Step(1)
	if state, err := finished.Query(); state != cuda.EventDone || err != nil {
		t.Fatalf("%v, %v", state, err)
	}
	theirs := got(r.other.NewStream())(t)
	their := got(r.other.NewEvent())(t)
	ok(t, their.Record(theirs))
	r.Stick(0, 719)
	if state, err := e.Query(); state != cuda.EventInDoubt || !errors.Is(err, cuda.ErrorLaunchFailed) {
		t.Errorf("event: %v, %v", state, err)
	}
	r.Stick(0, 0)
	r.Calls()
	for what, err := range map[string]error{
		"copy": s.Set(got(r.other.Alloc(1))(t).All(), 1), "wait": s.Wait(their), "synchronize": s.Synchronize(),
		"close": s.Close(), "record": finished.Record(s), "event": e.Close(), "alone": e.Synchronize(),
		"stream": second(r.ctx.NewStream()), "alloc": second(r.ctx.Alloc(1)), "module": second(r.ctx.LoadModule(".version")),
		"new event": second(r.ctx.NewEvent()),
	} {
		if !errors.Is(err, cuda.ErrInDoubt) {
			t.Errorf("%s: %v, want ErrInDoubt", what, err)
		}
	}
	for _, c := range r.Calls() {
		if c != "cuMemAlloc" && c != "cuEventQuery" { // of the other context
			t.Errorf("the driver heard %s", c)
		}
	}
	if state, _ := finished.Query(); state != cuda.EventDone {
		t.Error("doubt took an earlier proof back")
	}
	r.Step(1)
	if state, err := their.Query(); state != cuda.EventDone {
		t.Errorf("another context: %v, %v", state, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestDoubtFromOutside(t *testing.T) {
	r := newRig(t)
	_, e, _ := r.recorded(t)
	r.Step(2)
	r.ctx.Doubt(errors.New("Xid 79"))
	r.ctx.Doubt(errors.New("another"))
	state, err := e.Query()
	if state != cuda.EventInDoubt || !strings.Contains(err.Error(), "Xid 79") {
		t.Errorf("%v, %v", state, err)
	}
}

func TestRecordIsRefused(t *testing.T) {
	r := newRig(t)
	s, e, _ := r.recorded(t)
	fresh := got(r.ctx.NewEvent())(t)
	if state, err := fresh.Query(); state != cuda.EventNotRecorded || !errors.Is(err, cuda.ErrNotRecorded) {
		t.Errorf("fresh: %v, %v", state, err)
	}
	if err := s.Wait(fresh); !errors.Is(err, cuda.ErrNotRecorded) {
		t.Errorf("wait for a fresh event: %v", err)
	}
	foreign := got(r.other.NewStream())(t)
	r.Calls()
	if err := fresh.Record(foreign); !errors.Is(err, cuda.ErrWrongContext) {
		t.Errorf("record of another context: %v", err)
	}
	if got := r.Calls(); len(got) != 0 {
		t.Errorf("the driver heard %v", got)
	}
	if err := e.Record(s); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("record of a pending event: %v", err)
	}
	if err := e.Close(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("close of a pending event: %v", err)
	}
	r.Step(2)
	ok(t, e.Record(s)) // done by now: it may start anew
	if state, err := e.Query(); state != cuda.EventPending || err != nil {
		t.Errorf("recorded again: %v, %v", state, err)
	}
	r.Step(1)
	ok(t, e.Close())
	ok(t, e.Close())
	if err := e.Record(s); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("record of a closed event: %v", err)
	}
}

// A record that failed may stand or not: the event proves nothing any more, and
// the memory stays held.
func TestFailedRecordProvesNothing(t *testing.T) {
	r := newRig(t)
	host, device := r.pair(t, 64)
	s, e := got(r.ctx.NewStream())(t), got(r.ctx.NewEvent())(t)
	ok(t, s.Copy(device.All(), host.All()))
	r.Fail("cuEventRecord", 400, 0, 1)
	if err := e.Record(s); !errors.Is(err, cuda.ErrorInvalidHandle) {
		t.Fatalf("record: %v", err)
	}
	if state, err := e.Query(); state != cuda.EventInDoubt || !errors.Is(err, cuda.ErrInDoubt) {
		t.Errorf("event: %v, %v", state, err)
	}
	if err := device.Free(); !errors.Is(err, cuda.ErrInFlight) {
		t.Errorf("free: %v", err)
	}
	if err := e.Record(s); !errors.Is(err, cuda.ErrInDoubt) {
		t.Errorf("record again: %v", err)
	}
	next := got(r.ctx.NewEvent())(t)
	ok(t, next.Record(s))
	if state, _ := next.Query(); state != cuda.EventDone {
		t.Errorf("another event: %v", state)
	}
	ok(t, device.Free())
}

func TestPoll(t *testing.T) {
	r := newRig(t)
	r.SetMode(cudatest.BySteps)
	s := got(r.ctx.NewStream())(t)
	events := make([]*cuda.Event, 5)
	for i := range events {
		events[i] = got(r.ctx.NewEvent())(t)
		if i < 4 {
			ok(t, events[i].Record(s))
		}
	}
	r.Step(2)
	r.Calls()
	states := make([]cuda.EventState, 5)
	ok(t, r.ctx.Poll(events, states))
	want := []cuda.EventState{cuda.EventDone, cuda.EventDone, cuda.EventPending, cuda.EventPending, cuda.EventNotRecorded}
	if !slices.Equal(states, want) {
		t.Errorf("got %v, want %v", states, want)
	}
	r.Calls()
	ok(t, r.ctx.Poll(events, states))
	if heard := r.Calls(); len(heard) != 2 {
		t.Errorf("what is known was asked for: %v", heard)
	}
	// An answer that comes after an error in the same poll is none.
	r.Step(2)
	r.Fail("cuEventQuery", 700, 0, 1)
	ok(t, r.ctx.Poll(events, states))
	want = []cuda.EventState{cuda.EventDone, cuda.EventDone, cuda.EventInDoubt, cuda.EventInDoubt, cuda.EventNotRecorded}
	if !slices.Equal(states, want) {
		t.Errorf("got %v, want %v", states, want)
	}
	foreign := got(r.other.NewEvent())(t)
	if err := r.ctx.Poll([]*cuda.Event{foreign}, states[:1]); !errors.Is(err, cuda.ErrWrongContext) {
		t.Errorf("foreign: %v", err)
	}
	if err := r.ctx.Poll(events, states[:1]); !errors.Is(err, cuda.ErrArgument) {
		t.Errorf("short: %v", err)
	}
}

// While a call about an event is in the driver, somebody else sees it done and
// closes it: the handle must outlive the call, for a driver may do anything
// with one that is gone.
func TestCloseBesideACall(t *testing.T) {
	for call, use := range map[string]func(*rig, *cuda.Event) error{
		"cuEventSynchronize": func(_ *rig, e *cuda.Event) error { return e.Synchronize() },
		"cuEventQuery":       func(_ *rig, e *cuda.Event) error { return second(e.Query()) },
		"cuEventQuery ":      func(r *rig, e *cuda.Event) error { return r.ctx.Poll([]*cuda.Event{e}, make([]cuda.EventState, 1)) },
	} {
		r := newRig(t)
		_, e, _ := r.recorded(t)
		r.Pause(strings.TrimSpace(call))
		r.Calls()
		used, closed := make(chan error), make(chan error)
		go func() { used <- use(r, e) }()
		for !slices.Contains(r.Calls(), strings.TrimSpace(call)) {
			runtime.Gosched()
		}
		r.Step(2)
		if state, err := e.Query(); state != cuda.EventDone {
			t.Fatalf("%s: %v, %v", call, state, err)
		}
		go func() { closed <- e.Close() }()
		var err error
		select {
		case err = <-closed: // refused, where it does not wait
		case <-time.After(20 * time.Millisecond):
			r.Resume()
			ok(t, <-closed)
		}
		if err != nil && !errors.Is(err, cuda.ErrInFlight) {
			t.Errorf("%s: close: %v", call, err)
		}
		r.Resume()
		ok(t, <-used)
		if err := r.ctx.Err(); err != nil {
			t.Errorf("%s: a handle was used after its end: %v", call, err)
		}
		ok(t, e.Close())
	}
}

// Many goroutines ask about events that others record again and again: an
// answer about one record is never taken for the next one's.
func TestEventsUnderConcurrency(t *testing.T) {
	r := newRig(t)
	r.SetMode(cudatest.ByThread)
	host, device := r.pair(t, 1<<12)
	back := got(r.ctx.AllocHost(1 << 12))(t)
	s, e := got(r.ctx.NewStream())(t), got(r.ctx.NewEvent())(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			states := []cuda.EventState{0}
			for {
				select {
				case <-stop:
					return
				default:
					_ = r.ctx.Poll([]*cuda.Event{e}, states)
					_, _ = e.Query()
				}
			}
		})
	}
	for i := range 200 {
		ok(t, s.Set(back.All(), byte(i)))
		ok(t, s.Copy(device.All(), host.All()))
		ok(t, s.Copy(back.All(), device.All()))
		ok(t, e.Record(s))
		if i%2 == 0 {
			ok(t, e.Synchronize())
		}
		for state := cuda.EventState(0); state != cuda.EventDone; {
			var err error
			if state, err = e.Query(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(back.Bytes(), host.Bytes()) {
			t.Fatalf("round %d: the event was done before its work", i)
		}
	}
	close(stop)
	wg.Wait()
	for _, err := range []error{host.Free(), device.Free(), back.Free(), e.Close(), s.Close(), r.ctx.Close()} {
		ok(t, err)
	}
	if n := r.InUse(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
