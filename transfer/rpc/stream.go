// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Stream is one control stream. It implements transfer.Stream.
type Stream struct {
	peer   string // for errors
	frames frames
	// sending holds a token while Send is inside of gRPC, which does not allow
	// the call to be closed meanwhile.
	sending chan struct{}
	// closeCall ends the call; it lets what was sent before go out first.
	closeCall func()
	// abort ends the call at once.
	abort  func()
	once   sync.Once
	closed chan struct{}
}

func newStream(peer string, frames frames, abort func()) *Stream {
	return &Stream{peer: peer, frames: frames, abort: abort, sending: make(chan struct{}, 1), closed: make(chan struct{}), closeCall: func() {}}
}

var _ transfer.Stream = (*Stream)(nil)

// frames is what both ends of a gRPC call have in common.
type frames interface {
	Send(*pb.Frame) error
	Recv() (*pb.Frame, error)
}

// Send hands m to gRPC, which keeps the order. It blocks while the peer reads
// too slowly. If ctx ends first the stream ends with it.
func (s *Stream) Send(ctx context.Context, m wire.Message) error {
	frame, err := encode(m)
	if err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	select {
	case s.sending <- struct{}{}:
		defer func() { <-s.sending }()
	case <-s.closed:
		return ErrClosed
	}
	defer context.AfterFunc(ctx, s.abort)()
	return s.explain(ctx, s.frames.Send(frame))
}

// Recv returns the peer's next message, validated. Messages of kinds that this
// version does not know are passed over. If ctx ends first the stream ends
// with it. The error for what is malformed matches wire.ErrInvalid, that for
// another version of the protocol wire.ErrVersion.
func (s *Stream) Recv(ctx context.Context) (wire.Message, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, s.abort)()
	for {
		frame, err := s.frames.Recv()
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		m, err := decode(frame)
		if err != nil {
			return nil, fmt.Errorf("rpc: %s: %w", s.peer, err)
		}
		if m != nil {
			return m, nil
		}
	}
}

// Close ends the stream in both directions. What was sent before goes out
// first, for as long as that takes no more than a fraction of a second.
func (s *Stream) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.closeCall()
	})
	return nil
}

// quiet waits until no Send is inside of gRPC, for no longer than flushTime, and
// reports whether that is so. None begins after Close.
func (s *Stream) quiet() bool {
	select {
	case s.sending <- struct{}{}:
		return true
	case <-time.After(flushTime):
		return false
	}
}

// done is closed when Close was called.
func (s *Stream) done() <-chan struct{} { return s.closed }

func (s *Stream) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return nil
	}
}

// explain tells apart who ended the stream: this side, the context, the peer
// in good order (io.EOF), or a broken connection.
func (s *Stream) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	select {
	case <-s.closed:
		return ErrClosed
	default:
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if code := status.Code(err); code == codes.Canceled {
		return io.EOF // the peer left without a word of its own
	}
	return fmt.Errorf("rpc: %s: stream lost: %w", s.peer, err)
}
