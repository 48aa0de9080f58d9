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
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Stream is one control stream. It implements transfer.Stream.
type Stream struct {
	config *Config
	peer   string   // for errors
	names  []string // in the peer's certificate; nil without TLS
	pid    int      // of the peer's process, as checkUser found it
	meter  *meter
	frames frames
	ctx    context.Context // ends with the call
	out    *outgoing

	// Of the goroutine that receives.
	ahead []*pb.Frame // came with the frame before

	followed atomic.Pointer[following] // the latest
	waiting  atomic.Pointer[following] // under which Recv waits now; nil: it does not

	// closeCall ends the call; it lets what was sent before go out first.
	closeCall func()
	// abort ends the call at once.
	abort  func()
	once   sync.Once
	closed chan struct{}
}

func newStream(ctx context.Context, peer string, frames frames, abort func(), config *Config, names []string, meter *meter) *Stream {
	return &Stream{
		config: config, peer: peer, names: names, meter: meter, frames: frames, ctx: ctx, abort: abort,
		out: newOutgoing(), closed: make(chan struct{}), closeCall: func() {},
	}
}

// PeerNames returns the names in the peer's certificate, of which its Hello has
// one; nil without TLS, where the Hello is all that is known.
func (s *Stream) PeerNames() []string { return slices.Clone(s.names) }

// PeerProcess returns the number of the process at the other end of a Unix socket, as
// the kernel recorded it when the connection was made, or when its listener began to
// listen; 0 where it has no number here, since it is of another process namespace. For
// anything but a Unix socket local is false.
func (s *Stream) PeerProcess() (pid int, local bool) { return max(s.pid, 0), s.pid >= 0 }

var (
	_ transfer.Stream        = (*Stream)(nil)
	_ transfer.ProcessStream = (*Stream)(nil)
)

// frames is what both ends of a gRPC call have in common.
type frames interface {
	Send(*pb.Frame) error
	Recv() (*pb.Frame, error)
}

// Send queues m, which keeps the order; messages that are queued while one is on
// its way share a frame. It blocks while the peer reads too slowly. If ctx ends
// first the stream ends with it. An error of the carrier may come with a later
// message than the one that it stopped.
func (s *Stream) Send(ctx context.Context, m wire.Message) error {
	frame, err := encode(m)
	if err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := s.ours(m); err != nil {
		return err
	}
	for {
		full, err := s.out.add(frame, weight(m))
		if err != nil || !full {
			return s.explain(ctx, err)
		}
		select {
		case <-s.out.room:
		case <-s.out.done: // says why
		case <-ctx.Done():
			s.abort()
			return ctx.Err()
		}
	}
}

// Recv returns the peer's next message, validated. Messages of kinds that this
// version does not know are passed over. If ctx ends first the stream ends
// with it. The error for what is malformed matches wire.ErrInvalid, that for
// another version of the protocol wire.ErrVersion, that for a Hello of a name
// that is not the peer's ErrName, and that for what is too large ErrLimit.
func (s *Stream) Recv(ctx context.Context) (wire.Message, error) {
	if err := s.check(ctx); err != nil {
		if errors.Is(err, ErrClosed) {
			s.drain()
		}
		return nil, err
	}
	s.follow(ctx)
	defer s.waiting.Store(nil)
	if err := ctx.Err(); err != nil { // it may have ended before anybody waited under it
		s.abort()
		return nil, err
	}
	for {
		frame, err := s.next()
		if err == nil {
			err = s.meter.pass(s.ctx)
		}
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		if limit := s.config.Limits.MessageBytes; limit < wire.MaxMessage && proto.Size(frame) > limit {
			return nil, s.tooLarge(nil)
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

// drain reads what the peer said before it knew that the stream was closed: gRPC
// shows the end of a call to who reads it, and Close waits for that.
func (s *Stream) drain() {
	for {
		if _, err := s.frames.Recv(); err != nil {
			return
		}
	}
}

// following is one context that Recv was called with.
type following struct {
	ctx  context.Context
	stop func() bool
}

// follow lets the end of ctx end the stream while Recv waits under it. Whoever
// receives gives the same context again and again.
func (s *Stream) follow(ctx context.Context) {
	f := s.followed.Load()
	if f == nil || f.ctx != ctx {
		s.unfollow()
		f = &following{ctx: ctx}
		f.stop = context.AfterFunc(ctx, func() {
			if s.waiting.Load() == f {
				s.abort()
			}
		})
		s.followed.Store(f)
	}
	s.waiting.Store(f)
	select {
	case <-s.closed: // just now: nobody else would let go of the context
		s.unfollow()
	default:
	}
}

// unfollow lets go of the context, which may outlive the stream by far.
func (s *Stream) unfollow() {
	if f := s.followed.Swap(nil); f != nil {
		f.stop()
	}
}

// next returns the next frame with one message.
func (s *Stream) next() (*pb.Frame, error) {
	if len(s.ahead) == 0 {
		f, err := s.frames.Recv()
		if err != nil {
			return nil, err
		}
		s.ahead = f.More
		f.More = nil
		return f, nil
	}
	f := s.ahead[0]
	s.ahead = s.ahead[1:]
	return f, nil
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
	if s.names != nil {
		err = s.known(hello, s.names, "its certificate")
	}
	if want := s.config.Peer; err == nil && want != "" { // its certificate may have others beside it
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

func (s *Stream) tooLarge(err error) error {
	s.config.Counters.Oversize.Add(1)
	return &LimitError{Peer: s.peer, What: "message bytes", Limit: s.config.Limits.MessageBytes, Err: err}
}

// Close ends the stream in both directions. What was sent before goes out
// first, for as long as that takes no more than a fraction of a second.
func (s *Stream) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.closeCall()
		s.unfollow()
	})
	return nil
}

// quiet waits until everything is written, for no longer than flushTime, and
// reports whether that is so. gRPC does not allow a call to be closed before.
func (s *Stream) quiet() bool {
	s.out.close()
	select {
	case <-s.out.done:
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
		return s.tooLarge(err)
	}
	return fmt.Errorf("rpc: %s: stream lost: %w", s.peer, err)
}
