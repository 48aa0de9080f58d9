// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	config *Config
	peer   string   // for errors
	names  []string // in the peer's certificate; nil without TLS
	meter  *meter
	frames frames
	ctx    context.Context // ends with the call
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

func newStream(peer string, frames frames, abort func(), config *Config, names []string, meter *meter) *Stream {
	return &Stream{
		config: config, peer: peer, names: names, meter: meter, frames: frames, abort: abort,
		sending: make(chan struct{}, 1), closed: make(chan struct{}), closeCall: func() {},
	}
}

// PeerNames returns the names in the peer's certificate, of which its Hello has
// one; nil without TLS, where the Hello is all that is known.
func (s *Stream) PeerNames() []string { return slices.Clone(s.names) }

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
	if err := errors.Join(s.check(ctx), s.ours(m)); err != nil {
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
// another version of the protocol wire.ErrVersion, that for a Hello of a name
// that is not the peer's ErrName, and that for what is too large ErrLimit.
func (s *Stream) Recv(ctx context.Context) (wire.Message, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, s.abort)()
	for {
		frame, err := s.frames.Recv()
		if err == nil {
			err = s.meter.pass(s.ctx)
		}
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		m, err := decode(frame)
		if err != nil {
			s.config.Counters.Malformed.Add(1)
			return nil, fmt.Errorf("rpc: %s: %w", s.peer, err)
		}
		if err := s.theirs(m); err != nil {
			return nil, err
		}
		if m != nil {
			return m, nil
		}
	}
}

// ours refuses to give a name that our own certificate does not have: the peer
// would refuse it, and not know why.
func (s *Stream) ours(m wire.Message) error {
	hello, ok := m.(wire.Hello)
	if !ok || s.config.Identity == nil {
		return nil
	}
	return s.known(hello, s.config.Identity.Names(), "our certificate")
}

// theirs binds the accessor to its certificate (contract section 8): what the
// Hello says holds for every message after it.
func (s *Stream) theirs(m wire.Message) error {
	hello, ok := m.(wire.Hello)
	if !ok {
		return nil
	}
	var err error
	switch want := s.config.Peer; {
	case s.names != nil:
		err = s.known(hello, s.names, "its certificate")
	case want != "":
		err = s.known(hello, []string{want}, "the one that was dialled")
	}
	if err != nil {
		s.config.Counters.Misnamed.Add(1)
	}
	return err
}

func (s *Stream) known(h wire.Hello, names []string, whose string) error {
	if slices.Contains(names, h.Endpoint) {
		return nil
	}
	return &PeerError{Addr: s.peer, Kind: ErrName, Reason: fmt.Sprintf("the endpoint is %q, %s has %q", h.Endpoint, whose, names)}
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
	switch status.Code(err) {
	case codes.Canceled:
		return io.EOF // the peer left without a word of its own
	case codes.ResourceExhausted:
		s.config.Counters.Oversize.Add(1)
		return &LimitError{Peer: s.peer, What: "message bytes", Limit: s.config.Limits.MessageBytes, Err: err}
	}
	return fmt.Errorf("rpc: %s: stream lost: %w", s.peer, err)
}
