// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
)

// TestPausesBetweenPasses: the processor is offered to others first, then pauses double up
// to their limits, which grow with the number of passes that brought nothing.
func TestPausesBetweenPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b backoff
		defer b.end()
		wake, stop := newSignal(), make(chan struct{})
		want := map[int]time.Duration{
			1: 0, 256: 0, 257: 20 * time.Microsecond, 258: 40 * time.Microsecond, 259: 80 * time.Microsecond, 260: 100 * time.Microsecond, 4000: 100 * time.Microsecond,
			4001: 200 * time.Microsecond, 4002: 400 * time.Microsecond, 4003: 800 * time.Microsecond, 4004: time.Millisecond, 5000: time.Millisecond,
			5001: 2 * time.Millisecond, 5002: 4 * time.Millisecond, 5003: 8 * time.Millisecond, 5004: 10 * time.Millisecond, 6000: 10 * time.Millisecond,
		}
		for range 2 { // a reset begins anew
			b.reset()
			for pass := 1; pass <= 6000; pass++ {
				begin := time.Now()
				if !b.wait(wake, stop) {
					t.Fatal("it is over")
				}
				if took, listed := want[pass]; listed && time.Since(begin) != took {
					t.Errorf("pass %d is followed by %v, want %v", pass, time.Since(begin), took)
				}
			}
		}
		begin := time.Now()
		wake.raise()
		if !b.wait(wake, stop) || time.Since(begin) != 0 {
			t.Error("a pause is not ended by what wakes")
		}
	})
}

// TestNapsBetweenPasses: where a backend moves bytes in our calls only the first pauses
// are the kernel's, so that virtual time does not pass in them.
func TestNapsBetweenPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff{naps: true}
		defer b.end()
		b.reset()
		wake, stop := newSignal(), make(chan struct{})
		begin := time.Now()
		for pass := 1; pass <= napSpins+maxNaps; pass++ {
			if !b.wait(wake, stop) {
				t.Fatal("it is over")
			}
			want := minSleep
			for range pass - napSpins {
				want = min(2*want, 100*time.Microsecond)
			}
			if b.sleep != want || time.Since(begin) != 0 {
				t.Fatalf("after pass %d the next pause is %v, want %v; %v passed", pass, b.sleep, want, time.Since(begin))
			}
		}
		if !b.wait(wake, stop) || time.Since(begin) != 100*time.Microsecond {
			t.Errorf("after the naps %v passed", time.Since(begin))
		}
	})
}

// TestPausesEndWithStop: wherever they are.
func TestPausesEndWithStop(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	for name, b := range map[string]*backoff{
		"at first": {sleep: minSleep}, "napping": {sleep: minSleep, naps: true, passes: napSpins + 1}, "sleeping": {sleep: time.Hour, passes: spins},
		"with naps, at first": {sleep: minSleep, naps: true},
	} {
		if b.wait(newSignal(), stop) {
			t.Errorf("%s: it goes on", name)
		}
		b.end()
	}
}

// pacing is a backend whose calls take time.
type pacing struct {
	*loop.Agent
	takes time.Duration
	polls atomic.Int64
}

func (b *pacing) Poll(list []backend.Operation, out []backend.Observation) {
	b.polls.Add(1)
	for i := range list {
		out[i].Status = backend.InProgress
	}
	time.Sleep(b.takes)
}

// TestBusyCallsAreNews: a backend whose calls take 10 µs, and 1 µs for each operation, has
// something to do, and is not left waiting.
func TestBusyCallsAreNews(t *testing.T) {
	for _, test := range []struct {
		takes time.Duration
		jobs  int
		busy  bool
	}{
		{11 * time.Microsecond, 1, true}, {11*time.Microsecond - 1, 1, false}, {15 * time.Microsecond, 5, true}, {15*time.Microsecond - 1, 5, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &pacing{takes: test.takes}
			e := host(t, func(c *Config) { b.Agent = c.Backend.(*loop.Agent); c.Backend = b })
			for range test.jobs {
				e.poller.add(&job{handle: &quietOperation{}, last: backend.Submitted})
			}
			time.Sleep(100 * time.Millisecond)
			e.Halt()
			e.polling.Wait()
			if busy := b.polls.Load() > 5000; busy != test.busy {
				t.Errorf("%d operations, %v: %d polls in 100 ms", test.jobs, test.takes, b.polls.Load())
			}
		})
	}
}

// TestHeldPoller: a pause holds the poller out of the backend until it is released; one
// that is given up holds nothing, and neither keeps the endpoint from ending.
func TestHeldPoller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pacing{takes: time.Second}
		e := host(t, func(c *Config) { b.Agent = c.Backend.(*loop.Agent); c.Backend = b })
		e.poller.add(&job{handle: &quietOperation{}, last: backend.Submitted})
		time.Sleep(500 * time.Millisecond) // in the middle of a call
		gaveUp, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := e.poller.hold(gaveUp); err == nil {
			t.Error("it is held in the middle of a call")
		}
		polls := b.polls.Load()
		time.Sleep(3 * time.Second)
		if b.polls.Load() == polls {
			t.Error("a pause that was given up holds")
		}
		release, err := e.poller.hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		polls = b.polls.Load()
		time.Sleep(time.Minute)
		if b.polls.Load() != polls {
			t.Error("it is not held")
		}
		release()
		time.Sleep(time.Minute)
		if b.polls.Load() == polls {
			t.Error("it is held still")
		}
		if _, err = e.poller.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.Halt()
		e.polling.Wait() // though nobody has released it
		release, err = e.poller.hold(t.Context())
		if err != nil {
			t.Errorf("the poller that has ended: %v", err)
		}
		release()
	})
}

// TestDroppedOperations: those of an agent that is gone are not asked about again, and
// nobody waits for them; copies are, which no agent runs.
func TestDroppedOperations(t *testing.T) {
	e := &Endpoint{epoch: time.Now()}
	e.life.Store(&life{backend: quiet{}})
	p := newPoller(e)
	old, fresh, copies, freshCopy := &job{handle: &quietOperation{}}, &job{handle: &quietOperation{}}, &job{local: anyLocal{}}, &job{local: anyLocal{}}
	p.add(old)
	p.add(copies)
	p.collect()
	p.add(fresh)
	p.add(freshCopy)
	p.drop()
	p.collect()
	if len(p.jobs) != 0 || len(p.locals) != 2 {
		t.Errorf("%d operations and %d copies are left", len(p.jobs), len(p.locals))
	}
	if !old.over.Load() || !fresh.over.Load() || copies.over.Load() || freshCopy.over.Load() {
		t.Error("the wrong ones are over")
	}
}

// TestStatusWithoutAWord: an answer that is none, or that was never a copy's to give, is
// ambiguous; what was said is not said again.
func TestStatusWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		s := e.sends(t, g, mapped(t, e, "kv"))
		j := s.jobs[DefaultPiece]
		j.handle, j.last = &quietOperation{}, backend.Submitted
		for _, test := range []struct {
			says backend.Status
			news bool
		}{{backend.InProgress, false}, {backend.Submitted, false}, {0, true}, {99, false}, {backend.Error, false}, {backend.NotFound, true}} {
			if news := e.seen(j, e.now(), backend.Observation{Status: test.says}); news != test.news {
				t.Errorf("%v: news is %v", test.says, news)
			}
			if over := test.says == backend.NotFound; j.over.Load() != over {
				t.Errorf("%v: over is %v", test.says, !over)
			}
		}
		if err := s.Close(); !errors.Is(err, ownership.ErrRefused) {
			t.Errorf("close: %v", err)
		}
	})
}
