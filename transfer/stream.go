// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"io"
	"sync"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Stream carries messages between two endpoints. Package transfer/rpc has one
// over gRPC, [Pipe] makes one in memory; a user may bring his own.
//
// An implementation must keep the order of each direction, and give nothing
// twice and nothing changed. It need not survive anything: when it breaks, the
// endpoints attach another one and resume by the messages' numbers. It must
// know who the peer is at least as well as its user needs to, for the peer's
// Hello is believed (contract section 8).
//
// One goroutine sends and one receives, at the same time; Close comes from
// anywhere.
type Stream interface {
	// Send hands m to the carrier. nil does not say that it arrived. After an
	// error, that of ctx included, it may have arrived or not, and the stream
	// is not used any more.
	Send(ctx context.Context, m wire.Message) error
	// Recv returns the peer's next message; io.EOF after the peer closed.
	Recv(ctx context.Context) (wire.Message, error)
	// Close ends the stream in both directions and unblocks Send and Recv.
	// Closing twice is fine.
	Close() error
}

// ProcessStream is a Stream that knows, by the kernel's word, which process is at the
// other end; see Endpoint.FenceGone.
type ProcessStream interface {
	Stream
	// PeerProcess returns the process's number as it is seen from here, 0 where it
	// has none; false where the peer may be of another host.
	PeerProcess() (pid int, local bool)
}

// pipeDepth is how many messages one direction of a Pipe holds before Send blocks.
const pipeDepth = 64

// Pipe returns the two ends of a stream in memory, for tests and for two
// endpoints in one process. Each direction holds a bounded number of messages.
// What was sent before a Close can still be received after it.
func Pipe() (Stream, Stream) {
	a, b := newPipeHalf(), newPipeHalf()
	return &pipeEnd{out: a, in: b}, &pipeEnd{out: b, in: a}
}

// pipeHalf is one direction.
type pipeHalf struct {
	messages chan wire.Message
	closed   chan struct{}
	once     sync.Once
}

func newPipeHalf() *pipeHalf {
	return &pipeHalf{messages: make(chan wire.Message, pipeDepth), closed: make(chan struct{})}
}

func (h *pipeHalf) close() { h.once.Do(func() { close(h.closed) }) }

type pipeEnd struct{ out, in *pipeHalf }

func (e *pipeEnd) Send(ctx context.Context, m wire.Message) error {
	select {
	case <-e.out.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case e.out.messages <- m:
		return nil
	case <-e.out.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *pipeEnd) Recv(ctx context.Context) (wire.Message, error) {
	select {
	case m := <-e.in.messages:
		return m, nil
	default:
	}
	select {
	case m := <-e.in.messages:
		return m, nil
	case <-e.in.closed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Closed, but a last message may have been put in just before.
	select {
	case m := <-e.in.messages:
		return m, nil
	default:
		return nil, io.EOF
	}
}

func (e *pipeEnd) Close() error {
	e.out.close()
	e.in.close()
	return nil
}
