// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// raw is a peer made by hand: what it says is up to the test.
type raw struct {
	t      *testing.T
	stream transfer.Stream
	hello  wire.Hello // theirs
	link   *transfer.Link
	name   string
	life   wire.Incarnation
}

// rawPeer attaches a hand-made peer to p.
func rawPeer(t *testing.T, p *party, name string, life byte) *raw {
	t.Helper()
	r, result := rawHello(t, p, wire.Hello{Version: wire.Current, Endpoint: name, Incarnation: wire.Incarnation{life}})
	got := <-result
	must(t, got.err)
	r.link = got.link
	r.send(wire.Receipt{}) // nothing has arrived before
	return r
}

type attached struct {
	link *transfer.Link
	err  error
}

// rawHello says any Hello and returns what Attach makes of it.
func rawHello(t *testing.T, p *party, h wire.Hello) (*raw, <-chan attached) {
	t.Helper()
	ours, theirs := transfer.Pipe()
	result := make(chan attached, 1)
	go func() {
		l, err := p.Attach(t.Context(), theirs)
		result <- attached{l, err}
	}()
	r := &raw{t: t, stream: ours, name: h.Endpoint, life: h.Incarnation}
	r.hello = r.recv().(wire.Hello)
	r.send(h)
	return r, result
}

func (r *raw) send(m wire.Message) {
	r.t.Helper()
	must(r.t, r.stream.Send(r.t.Context(), m))
}

func (r *raw) recv() wire.Message {
	r.t.Helper()
	m, err := r.stream.Recv(r.t.Context())
	must(r.t, err)
	return m
}

// next returns the next message that is no Receipt.
func (r *raw) next() wire.Message {
	r.t.Helper()
	for {
		if m := r.recv(); m.Kind() != wire.KindReceipt {
			return m
		}
	}
}

// claim is the name of a claim on p's memory that this peer might have.
func (r *raw) claim(p *party, session ownership.SessionName, sequence uint64) wire.ClaimName {
	return wire.ClaimName{
		Owner: wire.Incarnation(p.Incarnation()), Piece: transfer.DefaultPiece, Sequence: sequence,
		Session:  wire.SessionName{Request: wire.RequestID(session.Request), Attempt: session.Attempt},
		Accessor: r.name, Incarnation: r.life,
	}
}

// lossy is a stream that swallows everything after the first n messages, as a
// socket does whose other end is gone.
type lossy struct {
	transfer.Stream

	mu   sync.Mutex
	left int // guarded by mu
}

func (l *lossy) Send(ctx context.Context, m wire.Message) error {
	l.mu.Lock()
	l.left--
	lost := l.left < 0
	l.mu.Unlock()
	if lost {
		return nil
	}
	return l.Stream.Send(ctx, m)
}

// stuck is a stream whose Send blocks from the first sequenced message on.
type stuck struct{ transfer.Stream }

func (s *stuck) Send(ctx context.Context, m wire.Message) error {
	if _, ok := m.(wire.Sequenced); ok {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Stream.Send(ctx, m)
}

// readAll takes in whatever comes until the stream ends.
func (r *raw) readAll() {
	for {
		if _, err := r.stream.Recv(r.t.Context()); err != nil {
			return
		}
	}
}

// hello is what a hand-made peer says.
func hello(name string, life byte) wire.Hello {
	return wire.Hello{Version: wire.Current, Endpoint: name, Incarnation: wire.Incarnation{life}}
}
