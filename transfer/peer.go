// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// peer is another endpoint, over all of its streams and lives.
type peer struct {
	endpoint *Endpoint
	name     ownership.Accessor
	wake     signal        // the link's sender has something to look at
	attach   chan struct{} // holds one token: one Attach at a time
	backend  serial        // calls of Backend.Connect, in order

	postponed  atomic.Int64  // cancels that wait for a tombstone
	turnedAway atomic.Uint64 // requests that found no room

	greeted  uint64 // guarded by endpoint.mu; when the latest handshake began
	greeting int    // guarded by endpoint.mu; handshakes that run

	mu       sync.Mutex
	life     ownership.Incarnation // guarded by mu; zero before the first Hello
	gone     formerLives           // guarded by mu; not accepted again
	agent    string                // guarded by mu; the peer's name towards the backend
	metadata []byte                // guarded by mu; loaded last
	link     *Link                 // guarded by mu; nil while no stream is attached
	received uint64                // guarded by mu; the latest number of this life
	out      outgoing              // guarded by mu
	// processes are those that the lives of the peer were in; guarded by mu.
	processes []identity
}

// attached returns the life and backend name of a peer that a stream leads to.
func (e *Endpoint) attached(name string) (p *peer, member ownership.Member, err error) {
	if p = e.lookup(ownership.Accessor(name)); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.link != nil && !p.life.IsZero() {
			return p, p.member(), nil
		}
	}
	return nil, member, &Error{What: "peer " + name, Kind: ErrNoPeer}
}

// publish queues a REQUEST_DATA behind everything that goes to the member. If
// that life is gone it never leaves.
func (p *peer) publish(to ownership.Member, m wire.RequestData) *publication {
	pub := newPublication(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != to.Incarnation {
		pub.withdraw()
		close(pub.done)
		return pub
	}
	p.out.queue = append(p.out.queue, pub)
	p.wake.raise()
	return pub
}

// reply answers a life of the peer about a session in which it has no part here:
// the core, which knows of one session of that name, that of other peers, has
// nothing to say to it. An answer that waits already is not doubled.
func (p *peer) reply(to ownership.Incarnation, list ...wire.Sequenced) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != to {
		return
	}
	for _, m := range list {
		if !slices.Contains(p.out.replies, m) {
			p.out.replies = append(p.out.replies, m)
		}
	}
	p.wake.raise()
}

// connect loads metadata that came in a Hello, with the agent's name, or in a
// REQUEST_DATA, without, in the order in which they came. It calls then with
// the agent's name and the result. Nothing else waits for a backend that takes
// long.
func (p *peer) connect(agent string, metadata []byte, then func(agent string, err error)) {
	p.backend.do(func() {
		p.mu.Lock()
		if agent == "" {
			agent = p.agent
		}
		fresh := len(metadata) > 0 && (p.agent != agent || !bytes.Equal(p.metadata, metadata))
		before := p.agent
		p.mu.Unlock()
		err := p.take(agent)
		if err == nil && fresh {
			err = p.load(agent, metadata)
		}
		p.mu.Lock()
		if err == nil {
			p.agent = agent
			if fresh {
				p.metadata = metadata
			}
		}
		now := p.agent
		p.mu.Unlock()
		for _, name := range []string{before, agent} {
			if name != now {
				p.drop(name)
			}
		}
		then(agent, err)
	})
}

// take makes an agent's name the peer's. It cannot be our own, nor that of another
// peer: what is meant for one would be written into the other's memory, and the
// answer would be that it was delivered.
func (p *peer) take(agent string) error {
	e := p.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	switch has := e.agents[agent]; {
	case agent == e.life.Load().agent:
		return fmt.Errorf("%w: agent %q is our own", backend.ErrMetadata, agent)
	case has != nil && has != p:
		return fmt.Errorf("%w: agent %q is that of peer %s", backend.ErrMetadata, agent, has.name)
	}
	e.agents[agent] = p
	return nil
}

// drop gives an agent's name up.
func (p *peer) drop(agent string) {
	e := p.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.agents[agent] == p {
		delete(e.agents, agent)
	}
}

func (p *peer) load(agent string, metadata []byte) error {
	b, err := p.endpoint.enterBackend(nil)
	if err != nil {
		return err
	}
	defer p.endpoint.leaveBackend()
	return b.Connect(agent, metadata)
}

// connected waits for connect.
func (p *peer) connected(ctx context.Context, agent string, metadata []byte) error {
	result := make(chan error, 1)
	p.connect(agent, metadata, func(_ string, err error) { result <- err })
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// supersede ends the present life where a Hello gave another one: the old one
// is gone, whatever becomes of the new one, and that is doubt about what it may
// still touch. What had arrived of it is taken in before. The caller holds the
// attach token.
func (p *peer) supersede(life ownership.Incarnation) {
	p.mu.Lock()
	old, link := p.life, p.link
	p.mu.Unlock()
	if old.IsZero() || old == life {
		return
	}
	if link != nil {
		link.end(ErrReplaced)
		<-link.ended
	}
	if !p.retire(old) { // it said Goodbye, or a fence was faster
		return
	}
	p.backend.do(p.forget) // before the new life's metadata are loaded
	e := p.endpoint
	e.note(nil, "peer "+string(p.name)+" came back in a new life")
	if err := e.gone(p.name, old); err != nil {
		e.config.Log.Warn("gone", "peer", p.name, "error", err)
	}
}

// begin makes life the present one; the one before is over.
func (p *peer) begin(life ownership.Incarnation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != life {
		p.life, p.received = life, 0
		p.out.clear()
	}
}

// withdraw forgets the requests of a life that is over.
func (p *peer) withdraw(life ownership.Incarnation) {
	from := ownership.Member{Accessor: p.name, Incarnation: life}
	p.endpoint.withdraw(func(r *Request) bool { return r.isFrom(from) })
}

// lives reports whether that is the present life.
func (p *peer) lives(life ownership.Incarnation) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life == life
}

// isGone reports whether a life was replaced or fenced.
func (p *peer) isGone(life ownership.Incarnation) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone.has(life)
}

// fence ends a life that a fence reached whole: it may not come back. One that freed
// only what the peer reaches by itself leaves nothing to ask it about that.
func (p *peer) fence(spec ownership.FenceSpec) {
	p.mu.Lock()
	life, link := p.life, p.link
	reached := spec.Incarnation.IsZero() || spec.Incarnation == life
	if reached && spec.Scope == ownership.Passive {
		p.out.replies = slices.DeleteFunc(p.out.replies, func(m wire.Sequenced) bool {
			c, ok := m.(wire.CancelSession)
			return ok && c.From == wire.Receive
		})
	}
	p.mu.Unlock()
	if !reached || spec.Scope != ownership.All {
		return
	}
	p.retire(life)
	if link != nil {
		link.end(ErrGone)
	}
}

// retire gives up what waits for a life that is over. It reports whether that
// was the present one.
func (p *peer) retire(life ownership.Incarnation) bool {
	p.mu.Lock()
	present := !life.IsZero() && p.life == life
	if present {
		p.gone.add(life, p.named)
		p.life = ownership.Incarnation{}
		p.processes = slices.DeleteFunc(p.processes, func(i identity) bool { return !p.gone.has(i.life) })
		p.out.clear()
		p.report() // returns when nothing waits: there is no life to send to
		p.backend.do(p.disconnect)
	}
	p.mu.Unlock()
	p.withdraw(life)
	p.endpoint.changed.send()
	return present
}

// disconnect lets the backend forget a peer that is over. It refuses while an
// operation towards it has not ended on proof, and that is fine.
func (p *peer) disconnect() {
	select { // not between an Attach's connect and its begin
	case p.attach <- struct{}{}:
		defer func() { <-p.attach }()
	default:
		return
	}
	p.forget()
}

// detach gives the token of an Attach back. Where there is no life by then, the backend
// has something to forget: it did not while the token was held, and what the handshake
// has loaded may come after its end.
func (p *peer) detach() {
	<-p.attach
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.IsZero() {
		p.backend.do(p.disconnect)
	}
}

// forget is disconnect for a caller that holds the attach token.
func (p *peer) forget() {
	p.mu.Lock()
	agent, loaded, over := p.agent, p.metadata != nil, p.life.IsZero()
	p.mu.Unlock()
	if !over || agent == "" || loaded && p.unload(agent) != nil {
		return
	}
	p.mu.Lock()
	p.agent, p.metadata = "", nil
	p.mu.Unlock()
	p.drop(agent)
}

func (p *peer) unload(agent string) error {
	b, err := p.endpoint.enterBackend(nil)
	if err != nil {
		return err
	}
	defer p.endpoint.leaveBackend()
	return b.Disconnect(agent)
}

// pending says how much is still to be sent to the peer, or to be confirmed by
// it or to it.
func (p *peer) pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.out.window) + len(p.out.queue) + len(p.out.replies)
	if l := p.link; l != nil && (p.received > l.confirmed || l.busy || l.leaving && !l.left) {
		n++
	}
	return n
}

// leave lets the peer know that this endpoint has stopped.
func (p *peer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != nil {
		p.link.leaving = true
		p.wake.raise()
	}
}
