// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"sync"

	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A frame's cost lies in its frame: a call of gRPC, and wake-ups on both sides.
// Messages that wait while one is being written therefore share the next. A
// frame has no more messages than maxBatch and, beyond its first one, no more
// bytes than maxBatchBytes, about; a sender waits while more than that is queued.
const (
	maxBatch      = 128
	maxBatchBytes = 64 << 10
	// besides is the room that a frame needs beside its largest message: the
	// bytes of a message are counted with some to spare, names at their limits are
	// longer.
	besides = 4 * maxBatchBytes
)

// weight is about how many bytes a message takes.
func weight(m wire.Message) int {
	switch m := m.(type) {
	case wire.Hello:
		return 512 + len(m.Metadata)
	case wire.RequestData:
		return 512 + 16*len(m.Segments) + len(m.Metadata) + len(m.Label)
	}
	return 256
}

// outgoing are the frames that wait to be written.
type outgoing struct {
	wake chan struct{} // holds a token when there is something new
	room chan struct{} // holds a token when there is room again
	done chan struct{} // closed when nothing is written any more

	mu     sync.Mutex
	frames []*pb.Frame // guarded by mu
	weight int         // guarded by mu; of frames
	err    error       // guarded by mu; of the carrier, for good
	closed bool        // guarded by mu; nothing more is taken
}

func newOutgoing() *outgoing {
	return &outgoing{wake: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{})}
}

// add queues a frame. full: there is no room now.
func (o *outgoing) add(f *pb.Frame, weight int) (full bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return false, o.err
	case o.closed:
		return false, ErrClosed
	case len(o.frames) >= maxBatch, len(o.frames) > 0 && o.weight+weight > maxBatchBytes:
		return true, nil
	}
	o.frames = append(o.frames, f)
	o.weight += weight
	token(o.wake)
	return false, nil
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns everything that waits as one frame, nil if nothing does.
func (o *outgoing) take() *pb.Frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.frames) == 0 {
		return nil
	}
	f := o.frames[0]
	if len(o.frames) > 1 {
		f.More = append([]*pb.Frame(nil), o.frames[1:]...)
	}
	clear(o.frames)
	o.frames, o.weight = o.frames[:0], 0
	token(o.room)
	return f
}

// close takes nothing more; what waits is still written.
func (o *outgoing) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	token(o.wake)
}

// fail ends the writing.
func (o *outgoing) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// last reports whether nothing can come any more.
func (o *outgoing) last() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed && len(o.frames) == 0
}

// write is the stream's only goroutine that calls gRPC's Send. It ends when the
// stream was closed and everything is written, or with the call.
func (s *Stream) write(ctx context.Context) {
	defer close(s.out.done)
	for {
		for f := s.out.take(); f != nil; f = s.out.take() {
			if err := s.frames.Send(f); err != nil {
				s.out.fail(err)
				return
			}
		}
		if s.out.last() {
			return
		}
		select {
		case <-s.out.wake:
		case <-ctx.Done():
			s.out.fail(ctx.Err())
			return
		}
	}
}
