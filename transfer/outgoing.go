// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"sync/atomic"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// maxWindow bounds the messages that a peer has not acknowledged; more wait in
// the registry's outbox, or in the call that publishes.
const maxWindow = 1024

// publication is one REQUEST_DATA on its way out. The goroutine that publishes
// waits for it; the peer's sender takes it.
type publication struct {
	message wire.RequestData
	state   atomic.Int32
	done    chan struct{} // closed when it left, may have left, or never will
}

// States of a publication: exactly one of taken and withdrawn follows queued,
// so that "provably never sent" is a fact and not a guess.
const (
	queued int32 = iota
	taken        // a sender has it: it may have left
	withdrawn
)

func newPublication(m wire.RequestData) *publication {
	return &publication{message: m, done: make(chan struct{})}
}

// withdraw reports whether the message provably never left.
func (p *publication) withdraw() bool { return p.state.CompareAndSwap(queued, withdrawn) }

// outgoing is what goes to one life of a peer, in the order of its numbers.
// The peer's mu guards it.
type outgoing struct {
	last   uint64           // the number given latest
	window []wire.Sequenced // given a number, and not acknowledged
	sent   int              // how many of the window this link has sent
	queue  []*publication   // not given a number yet
	// replies are answers that the core has no part in; see peer.reply.
	replies []wire.Sequenced
	// told is the generation of our metadata that the peer has, or will have
	// when what is in the window arrives.
	told uint64
}

// resume prepares for a new link, whose Hello had the metadata of generation.
func (o *outgoing) resume(generation uint64) {
	o.sent = 0
	o.told = generation
	for i, m := range o.window {
		if r, ok := m.(wire.RequestData); ok {
			r.Metadata = nil // the Hello had newer ones
			o.window[i] = r
		}
	}
}

// acknowledge drops what has arrived.
func (o *outgoing) acknowledge(received uint64) {
	n := 0
	for n < len(o.window) && o.window[n].Sequence() <= received {
		n++
	}
	clear(o.window[:n])
	o.window = o.window[n:]
	o.sent = max(0, o.sent-n)
}

// take gives the next number to m.
func (o *outgoing) take(m wire.Sequenced) wire.Sequenced {
	o.last++
	m = m.WithSequence(o.last)
	o.window = append(o.window, m)
	o.sent = len(o.window)
	return m
}

// next returns the next message of the window, of the queue, of the replies,
// or of the core's outbox, in that order. nil: there is none, or the window is full.
func (o *outgoing) next(p *peer) (m wire.Sequenced, left *publication) {
	if o.sent < len(o.window) {
		o.sent++
		return o.window[o.sent-1], nil
	}
	if len(o.window) >= maxWindow {
		return nil, nil
	}
	for len(o.queue) > 0 {
		pub := o.queue[0]
		o.queue[0], o.queue = nil, o.queue[1:]
		if pub.state.CompareAndSwap(queued, taken) {
			return o.take(o.withMetadata(p.endpoint, pub.message)), pub
		}
	}
	if len(o.replies) > 0 {
		m := o.replies[0]
		o.replies = o.replies[1:]
		return o.take(m), nil
	}
	if report := p.report(); report != nil {
		return o.take(report), nil
	}
	return nil, nil
}

// withMetadata adds our metadata if the peer does not have the latest.
func (o *outgoing) withMetadata(e *Endpoint, m wire.RequestData) wire.RequestData {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fetched > o.told {
		m.Metadata, o.told = e.metadata, e.fetched
	}
	return m
}

// clear gives everything up: the life that it was for is gone.
func (o *outgoing) clear() {
	for _, pub := range o.queue {
		if pub.withdraw() {
			close(pub.done)
		}
	}
	*o = outgoing{}
}

// report takes the core's oldest message for the peer out of its outbox; the
// window has it from then on, and a failed send keeps its place there. What is
// for a life that is gone can reach nobody. p.mu is held.
func (p *peer) report() wire.Sequenced {
	r := p.endpoint.registry
	for {
		out, ok := r.Peek(p.name)
		if !ok {
			return nil
		}
		if !r.Delivered(p.name, out.Number) {
			continue // taken back in between
		}
		if out.To.Incarnation == p.life {
			return wireReport(out.Message)
		}
		p.endpoint.counts.undeliverable.Add(1)
	}
}

// discard drops the reports for a life that is over, in case there is no
// sender to do it.
func (p *peer) discard() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.IsZero() {
		p.report()
	}
}

// member is the peer in its present life, p.mu is held.
func (p *peer) member() ownership.Member {
	return ownership.Member{Accessor: p.name, Incarnation: p.life}
}
