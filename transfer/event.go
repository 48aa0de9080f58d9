// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"fmt"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// Event is one line of an endpoint's timeline: an effect of the ownership
// rules, or a note of the runtime about something that changed no ownership.
type Event struct {
	// At is the wall-clock time, Elapsed the monotonic time since the endpoint
	// was made. An effect has its own time, not that of its delivery.
	At       time.Time
	Elapsed  time.Duration
	Endpoint string
	// Session and Side are zero where the event is about no session.
	Session ownership.SessionName
	Side    ownership.Side
	Effect  ownership.Effect // nil for a note
	Note    string           // empty for an effect
	// Dropped events were lost before this one because Observe was too slow.
	Dropped int
}

// String returns the event in one line, without its time.
func (e Event) String() string {
	if e.Effect == nil {
		return fmt.Sprintf("%s: %s", e.Endpoint, e.Note)
	}
	return fmt.Sprintf("%s: %v", e.Endpoint, e.Effect)
}

// maxBacklog bounds the events that wait for a slow Observe.
const maxBacklog = 1 << 16

// timeline brings the effects of many goroutines' calls into the order of
// their numbers and delivers them on a goroutine of its own, so that a slow or
// blocked Observe delays nothing.
type timeline struct {
	observe func(Event) // nil: nobody looks, and nothing is kept
	wake    signal

	mu      sync.Mutex
	next    uint64           // guarded by mu; the number that is due
	early   map[uint64]Event // guarded by mu; effects whose turn has not come
	ready   []Event          // guarded by mu; in order
	dropped int              // guarded by mu
}

func newTimeline(observe func(Event)) *timeline {
	return &timeline{observe: observe, wake: newSignal(), next: 1, early: map[uint64]Event{}}
}

// effect takes one effect in. Numbers have no gaps, so each one's turn comes.
func (t *timeline) effect(ev Event) {
	if t.observe == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.early[ev.Effect.Stamped().Seq] = ev
	for {
		ev, ok := t.early[t.next]
		if !ok {
			return
		}
		delete(t.early, t.next)
		t.next++
		t.push(ev)
	}
}

// note takes a note in, after all effects that are ready.
func (t *timeline) note(ev Event) {
	if t.observe == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.push(ev)
}

// push appends to ready; mu is held.
func (t *timeline) push(ev Event) {
	if len(t.ready) >= maxBacklog {
		t.dropped++
		return
	}
	ev.Dropped, t.dropped = t.dropped, 0
	t.ready = append(t.ready, ev)
	t.wake.raise()
}

func (t *timeline) take() []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	batch := t.ready
	t.ready = nil
	return batch
}

// run delivers until stop, and then what is left.
func (t *timeline) run(stop <-chan struct{}) {
	if t.observe == nil {
		return
	}
	for {
		for _, ev := range t.take() {
			t.observe(ev)
		}
		select {
		case <-t.wake:
		case <-stop:
			for _, ev := range t.take() {
				t.observe(ev)
			}
			return
		}
	}
}
