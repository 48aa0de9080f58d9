// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// nonBlocking keeps a stream apart from the legacy default stream.
const nonBlocking = 1

// Stream is a queue of work of one device: what is given to it runs in order.
type Stream struct {
	context *Context
	handle  cudac.Stream

	mu     sync.Mutex
	held   []*Memory // guarded by mu; given to work that no event stands behind yet
	works  uint64    // guarded by mu; how much work and how many records there were
	closed bool      // guarded by mu
}

// NewStream creates a stream that does not wait for the default stream.
func (c *Context) NewStream() (*Stream, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	h, rc := c.api.StreamCreate(c.handle, nonBlocking)
	if err := c.check("cuStreamCreate", rc); err != nil {
		return nil, err
	}
	c.live.Add(1)
	return &Stream{context: c, handle: h}, nil
}

// Context is the context that the stream belongs to.
func (s *Stream) Context() *Context { return s.context }

// submit gives work to the driver. Whatever it answers, the memory stays held
// until an event that is recorded behind the work is done: an error does not
// say that nothing was started.
func (s *Stream) submit(call string, uses []*Memory, work func() cudac.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.hold(uses); err != nil {
		return err
	}
	s.works++
	return s.context.check(call, work())
}

// usable is nil while work can be given to the stream. The caller holds mu.
func (s *Stream) usable() error {
	if s.closed {
		return fmt.Errorf("%w: stream", ErrClosed)
	}
	return s.context.Err()
}

// hold holds each memory once, all or none. The caller holds mu.
func (s *Stream) hold(uses []*Memory) error {
	before := len(s.held)
	for _, m := range uses {
		if slices.Contains(s.held, m) {
			continue
		}
		err := m.hold()
		if err == nil && m.context.device.driver != s.context.device.driver {
			m.unhold()
			err = fmt.Errorf("%w: %v", ErrWrongContext, m)
		}
		if err != nil {
			releaseAll(s.held[before:])
			s.held = s.held[:before]
			return err
		}
		s.held = append(s.held, m)
	}
	return nil
}

func releaseAll(held []*Memory) {
	for _, m := range held {
		m.unhold()
	}
}

// Copy copies src to dst, which are of the same length and do not overlap, on
// whichever side each lies.
func (s *Stream) Copy(dst, src Range) error {
	if err := checkCopy(dst, src); err != nil {
		return err
	}
	return s.submit("cuMemcpyAsync", []*Memory{dst.memory, src.memory}, func() cudac.Result {
		return s.context.api.Copy(s.context.handle, dst.Addr(), src.Addr(), src.len, s.handle)
	})
}

func checkCopy(dst, src Range) error {
	switch {
	case dst.memory == nil || src.memory == nil:
		return fmt.Errorf("%w: copy of no memory", ErrArgument)
	case dst.len != src.len:
		return fmt.Errorf("%w: copy of %d bytes to %d", ErrArgument, src.len, dst.len)
	case dst.Addr() < src.Addr()+src.len && src.Addr() < dst.Addr()+dst.len:
		return fmt.Errorf("%w: copy from %#x to %#x of %d bytes overlaps itself", ErrArgument, src.Addr(), dst.Addr(), src.len)
	}
	return nil
}

// CopyBatch submits all copies of the list, in no order among themselves: in
// one call of the driver where it has one, otherwise in one a copy. After an
// error it is not known which were submitted.
func (s *Stream) CopyBatch(l *CopyList) error {
	if err := l.complete(); err != nil {
		return err
	}
	dst, src, length := l.arrays()
	return s.submit("cuMemcpyBatchAsync", l.uses, func() cudac.Result {
		return s.context.api.CopyBatch(s.context.handle, dst, src, length, l.n, s.handle)
	})
}

// Set fills a range with a byte.
func (s *Stream) Set(dst Range, value byte) error {
	if dst.memory == nil {
		return fmt.Errorf("%w: set of no memory", ErrArgument)
	}
	return s.submit("cuMemsetD8Async", []*Memory{dst.memory}, func() cudac.Result {
		return s.context.api.Set(s.context.handle, dst.Addr(), value, dst.len, s.handle)
	})
}

// Wait makes what is given to the stream from now on wait for an event, which
// may be of another device. An event that was never recorded is
// [ErrNotRecorded]: CUDA would wait for nothing.
func (s *Stream) Wait(e *Event) error {
	if e.context.device.driver != s.context.device.driver {
		return fmt.Errorf("%w: event of %s, stream of %s", ErrWrongContext, e.context.device, s.context.device)
	}
	unpin, err := e.pin()
	if err != nil {
		return err
	}
	defer unpin()
	switch state, err := e.Query(); state {
	case EventDone:
		return nil
	case EventPending:
	default:
		return err
	}
	return s.submit("cuStreamWaitEvent", nil, func() cudac.Result {
		return s.context.api.StreamWait(s.context.handle, s.handle, e.handle)
	})
}

// Synchronize blocks until all work given so far has ended. It is proof for
// that work and for nothing else: a peer that writes this device's memory
// through a NIC is none of it. On an error nothing is proven.
func (s *Stream) Synchronize() error {
	s.mu.Lock()
	works := s.works
	err := s.usable()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	rc := s.context.api.StreamSynchronize(s.context.handle, s.handle)
	if err := s.context.check("cuStreamSynchronize", rc); err != nil {
		return err
	}
	if err := s.context.Err(); err != nil {
		return err // an answer after an error is none
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works == works { // otherwise later work may have been given the same memory
		releaseAll(s.held)
		s.held = nil
	}
	return nil
}

// Close destroys the stream. Where memory was given to work with no event
// behind it, the error matches [ErrInFlight]; in a context in doubt [ErrInDoubt].
// Closing twice is fine.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.context
	switch {
	case s.closed:
		return nil
	case c.Err() != nil:
		return c.Err()
	case len(s.held) > 0:
		return fmt.Errorf("%w: stream: no event stands behind the work with %v", ErrInFlight, s.held[0])
	}
	if err := c.check("cuStreamDestroy", c.api.StreamDestroy(c.handle, s.handle)); err != nil {
		return err
	}
	s.closed = true
	c.live.Add(-1)
	return nil
}
