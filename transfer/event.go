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
	// Dropped events were lost before this note, which says so, because their reader,
	// Observe or Log, was too slow.
	Dropped int
}

// String returns the event in one line, without its time.
func (e Event) String() string {
	if e.Effect == nil {
		return fmt.Sprintf("%s: %s", e.Endpoint, e.Note)
	}
	return fmt.Sprintf("%s: %v", e.Endpoint, e.Effect)
}

// maxBacklog bounds the events that wait for a slow Observe, or a slow Log.
const maxBacklog = 1 << 16

// timeline brings the effects of many goroutines' calls into the order of their
// numbers, for each reader.
type timeline struct {
	readers []*reader

	mu    sync.Mutex
	next  uint64           // guarded by mu; the number that is due
	early map[uint64]Event // guarded by mu; effects whose turn has not come
}

func newTimeline(readers ...func(Event)) *timeline {
	t := &timeline{next: 1, early: map[uint64]Event{}}
	for _, f := range readers {
		if f != nil { // nobody looks, and nothing is kept
			t.readers = append(t.readers, &reader{read: f, wake: newSignal()})
		}
	}
	return t
}

// effect takes one effect in. Numbers have no gaps, so each one's turn comes.
func (t *timeline) effect(ev Event) {
	if len(t.readers) == 0 {
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
	if len(t.readers) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.push(ev)
}

func (t *timeline) push(ev Event) {
	for _, r := range t.readers {
		r.push(ev)
	}
}

// lost counts what did not reach one of the readers.
func (t *timeline) lost() (n uint64) {
	for _, r := range t.readers {
		r.mu.Lock()
		n += r.lost
		r.mu.Unlock()
	}
	return n
}

// reader delivers events on a goroutine of its own, so that one that is slow or
// blocked delays nothing, and no other reader.
type reader struct {
	read func(Event)
	wake signal

	mu      sync.Mutex
	ready   []Event // guarded by mu; in order
	dropped int     // guarded by mu; since the last take
	lost    uint64  // guarded by mu; in all
}

func (r *reader) push(ev Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ready) >= maxBacklog {
		r.dropped++
		r.lost++
		return
	}
	r.ready = append(r.ready, ev)
	r.wake.raise()
}

// take returns what is ready; where events were lost after it, a note that says so.
func (r *reader) take() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.ready
	r.ready = nil
	if r.dropped > 0 { // what is ready was the most that it may be
		last := batch[len(batch)-1]
		batch = append(batch, Event{
			At: last.At, Elapsed: last.Elapsed, Endpoint: last.Endpoint, Dropped: r.dropped,
			Note: fmt.Sprintf("%d events were lost here, since their reader was slow", r.dropped),
		})
		r.dropped = 0
	}
	return batch
}

// run delivers until stop, and then what is left.
func (r *reader) run(stop <-chan struct{}) {
	for {
		for _, ev := range r.take() {
			r.read(ev)
		}
		select {
		case <-r.wake:
		case <-stop:
			for _, ev := range r.take() {
				r.read(ev)
			}
			return
		}
	}
}
