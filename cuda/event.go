// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// EventState is what is known of the work behind an event.
type EventState uint8

// States of an event. Only EventDone is proof.
const (
	_                EventState = iota
	EventNotRecorded            // stands behind nothing
	EventPending                // the work has not ended, as far as the driver knows
	EventDone                   // all work before the record has ended
	EventInDoubt                // the driver gave an error; nobody knows
)

var eventNames = [...]string{EventNotRecorded: "not recorded", EventPending: "pending", EventDone: "done", EventInDoubt: "in doubt"}

// String names the state.
func (s EventState) String() string {
	if s > 0 && int(s) < len(eventNames) {
		return eventNames[s]
	}
	return fmt.Sprintf("invalid event state %d", uint8(s))
}

// Event is a place in a stream.
type Event struct {
	context *Context
	handle  cudac.Event
	timing  bool

	// word is the number of records, shifted by 8, and the state: an answer
	// about one record must never be taken for the next one's.
	word atomic.Uint64

	mu     sync.Mutex
	held   []*Memory // guarded by mu; what the work before the record was given
	err    error     // guarded by mu; why this event alone is in doubt
	users  int       // guarded by mu; calls that need the handle and run now
	closed bool      // guarded by mu
}

// Flags of events: blocking lets a synchronise sleep, noTiming makes records and
// queries cheap.
const (
	blocking = 1
	noTiming = 2
)

// NewEvent creates an event, not recorded yet.
func (c *Context) NewEvent() (*Event, error) { return c.newEvent(blocking | noTiming) }

// NewTimingEvent creates an event for [Elapsed].
func (c *Context) NewTimingEvent() (*Event, error) { return c.newEvent(blocking) }

func (c *Context) newEvent(flags uint32) (*Event, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	h, rc := c.api.EventCreate(c.handle, flags)
	if err := c.check("cuEventCreate", rc); err != nil {
		return nil, err
	}
	c.live.Add(1)
	e := &Event{context: c, handle: h, timing: flags&noTiming == 0}
	e.word.Store(uint64(EventNotRecorded))
	return e, nil
}

// Context is the context that the event belongs to.
func (e *Event) Context() *Context { return e.context }

// Record puts the event behind all work that the stream has been given, which
// must be of the same context ([ErrWrongContext]). An event that was recorded
// and is not done yet is [ErrInFlight]: recording it again would throw away
// what it could prove.
func (e *Event) Record(s *Stream) error {
	if s.context != e.context {
		return fmt.Errorf("%w: event of %s, stream of %s", ErrWrongContext, e.context.device, s.context.device)
	}
	if state, _ := e.Query(); state == EventPending {
		return fmt.Errorf("%w: event is recorded and not done", ErrInFlight)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	return e.record(s)
}

// record does so under the locks of both.
func (e *Event) record(s *Stream) error {
	word := e.word.Load()
	switch {
	case e.closed:
		return fmt.Errorf("%w: event", ErrClosed)
	case e.err != nil:
		return e.err
	case EventState(word&0xff) == EventPending: // somebody was faster
		return fmt.Errorf("%w: event is recorded and not done", ErrInFlight)
	}
	next := (word>>8 + 1) << 8
	if err := e.context.check("cuEventRecord", e.context.api.EventRecord(e.context.handle, e.handle, s.handle)); err != nil {
		// It may have been recorded or not; the stream keeps what it holds.
		e.err = fmt.Errorf("%w: %w", ErrInDoubt, err)
		e.word.Store(next | uint64(EventInDoubt))
		return err
	}
	e.held, s.held = s.held, nil
	s.works++
	e.word.Store(next | uint64(EventPending))
	return nil
}

// Query asks whether the work before the record has ended. The error is nil
// for EventPending and EventDone, and says why otherwise. Done is remembered:
// later doubt about the context does not take it back.
func (e *Event) Query() (EventState, error) {
	word, result := e.ask()
	return e.known(e.take(word, result))
}

// ask asks the driver about the record that stands now. Nobody destroys the
// event meanwhile: only one that is not pending can be, and under the lock.
func (e *Event) ask() (word uint64, result cudac.Result) {
	c := e.context
	c.asking.RLock()
	defer c.asking.RUnlock()
	word = e.word.Load()
	if EventState(word&0xff) != EventPending || c.doubt.Load() != nil {
		return word, cudac.NotReady
	}
	events, results := [1]cudac.Event{e.handle}, [1]cudac.Result{}
	c.api.EventQuery(c.handle, events[:], results[:])
	return word, results[0]
}

// pin keeps the event from being destroyed during a call about it.
func (e *Event) pin() (unpin func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("%w: event", ErrClosed)
	}
	e.users++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.users--
	}, nil
}

// take makes the driver's answer about the record in word what is known of the
// event, and returns the word that holds now.
func (e *Event) take(word uint64, r cudac.Result) uint64 {
	switch r {
	case cudac.NotReady:
		return word
	case cudac.Success:
	default:
		e.context.Doubt(e.context.device.driver.newError("cuEventQuery", r))
	}
	if e.context.doubt.Load() != nil {
		return word // an answer after an error is none
	}
	e.mu.Lock()
	defer e.mu.Unlock() // so that a next record's memory is not taken for this one's
	if e.word.CompareAndSwap(word, word&^0xff|uint64(EventDone)) {
		releaseAll(e.held)
		e.held = nil
	}
	return e.word.Load()
}

// known reads a word: what the event says without the driver.
func (e *Event) known(word uint64) (EventState, error) {
	state := EventState(word & 0xff)
	switch {
	case state == EventNotRecorded:
		return state, ErrNotRecorded
	case state == EventPending && e.context.doubt.Load() != nil:
		return EventInDoubt, e.context.Err()
	case state == EventInDoubt:
		e.mu.Lock()
		defer e.mu.Unlock()
		return state, e.err
	}
	return state, nil
}

// Synchronize blocks until the work before the record has ended. On an error
// nothing is proven.
func (e *Event) Synchronize() error {
	unpin, err := e.pin()
	if err != nil {
		return err
	}
	defer unpin()
	word := e.word.Load()
	if state, err := e.known(word); state != EventPending {
		return err
	}
	rc := e.context.api.EventSynchronize(e.context.handle, e.handle)
	if err := e.context.check("cuEventSynchronize", rc); err != nil {
		return err
	}
	_, err = e.known(e.take(word, rc))
	return err
}

// Elapsed is the time between two events that were made by
// [Context.NewTimingEvent] and are done.
func Elapsed(from, to *Event) (time.Duration, error) {
	for _, e := range []*Event{from, to} {
		unpin, err := e.pin()
		if err != nil {
			return 0, err
		}
		defer unpin()
		if state, err := e.Query(); state != EventDone || !e.timing || e.context != from.context {
			return 0, fmt.Errorf("%w: elapsed between events: one is %v, timing %v: %w", ErrArgument, state, e.timing, err)
		}
	}
	ms, rc := from.context.api.EventElapsed(from.context.handle, from.handle, to.handle)
	if err := from.context.check("cuEventElapsedTime", rc); err != nil {
		return 0, err
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), nil
}

// Close destroys the event. While it is pending the error matches
// [ErrInFlight], in doubt [ErrInDoubt]. Closing twice is fine.
func (e *Event) Close() error {
	state, err := e.Query()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil
	case state == EventInDoubt:
		return err
	case state == EventPending, EventState(e.word.Load()&0xff) == EventPending, e.users > 0:
		return fmt.Errorf("%w: event", ErrInFlight)
	}
	c := e.context
	c.asking.Lock()
	rc := c.api.EventDestroy(c.handle, e.handle)
	c.asking.Unlock()
	if err := c.check("cuEventDestroy", rc); err != nil {
		return err
	}
	e.closed = true
	c.live.Add(-1)
	return nil
}
