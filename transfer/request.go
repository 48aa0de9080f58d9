// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Request is a peer's REQUEST_DATA that waits for this side's answer: Send or
// Fetch, by its direction, or Refuse. Until then the peer's memory stays owned
// there. All methods may be called from any goroutine.
type Request struct {
	endpoint  *Endpoint
	life      *life            // of the endpoint, which was asked
	from      ownership.Member // with the sequence of the peer's claim
	agent     string           // the peer's name towards the backend
	piece     ownership.PieceName
	claim     ownership.ClaimName // the peer's own, on us
	direction backend.Direction
	segments  []backend.Segment // of the peer
	space     backend.Space     // of the peer's memory
	label     string
	pieces    uint32        // of the session, that name us; 0: not decided
	withdrawn chan struct{} // closed when the peer needs no answer any more

	mu       sync.Mutex
	answered bool // guarded by mu
	ready    bool // guarded by endpoint.mu; the peer's metadata is loaded
	handed   bool // guarded by endpoint.mu; OnRequest was called
}

// Session returns the name of the peer's session, which the sending one shares.
func (r *Request) Session() ownership.SessionName { return r.piece.Session }

// Piece returns the name of the piece.
func (r *Request) Piece() string { return r.piece.Piece }

// Direction says what is asked for: backend.Write, to be answered with Send, or
// backend.Read, with Fetch.
func (r *Request) Direction() backend.Direction { return r.direction }

// Pieces returns how many pieces of its session the peer asks of this endpoint,
// this one included; 0 while more may come.
func (r *Request) Pieces() int { return int(r.pieces) }

// Peer returns the name of who asks.
func (r *Request) Peer() string { return string(r.from.Accessor) }

// Label returns the label that the peer gave, empty if none.
func (r *Request) Label() string { return r.label }

// Lens returns the lengths in bytes of the peer's blocks, in order.
func (r *Request) Lens() []uint64 {
	lens := make([]uint64, len(r.segments))
	for i, s := range r.segments {
		lens[i] = s.Len
	}
	return lens
}

// Len returns how many bytes are asked for.
func (r *Request) Len() uint64 { return total(r.segments) }

// Withdrawn returns a channel that is closed when the peer cancelled or is
// gone before there was an answer.
func (r *Request) Withdrawn() <-chan struct{} { return r.withdrawn }

func (r *Request) isFrom(m ownership.Member) bool {
	return r.from.Accessor == m.Accessor && r.from.Incarnation == m.Incarnation
}

// over reports whether the request was answered or withdrawn; mu is held.
func (r *Request) over() bool {
	select {
	case <-r.withdrawn:
		return true
	default:
		return r.answered
	}
}

// OnRequest sets what is called, on a goroutine of its own, for each
// REQUEST_DATA; those that arrived before are handed over now. The function
// may answer at once or keep the request and answer later.
func (e *Endpoint) OnRequest(f func(*Request)) {
	e.mu.Lock()
	e.onRequest = f
	var due []*Request
	for _, r := range e.requests.all() {
		if f != nil && r.ready && !r.handed {
			r.handed = true
			due = append(due, r)
		}
	}
	e.mu.Unlock()
	for _, r := range due {
		go f(r)
	}
}

// requested takes a REQUEST_DATA in. false: it is not meant for this endpoint,
// or the claim in it is not the peer's.
func (l *Link) requested(at time.Duration, m wire.RequestData) bool {
	e, p := l.peer.endpoint, l.peer
	claim := coreClaim(m.Claim)
	life := e.life.Load()
	if string(claim.Accessor) != e.config.Name || claim.Incarnation != life.incarnation || claim.Owner != l.member.Incarnation {
		return false
	}
	r := &Request{
		endpoint: e, life: life, from: l.member, piece: claim.Piece, claim: claim, direction: backend.Direction(m.Direction),
		segments: backendSegments(m.Segments), label: m.Label, pieces: m.Pieces,
		space:     backend.Space{Kind: backend.MemoryKind(m.Space.Kind), Device: m.Space.Device},
		withdrawn: make(chan struct{}),
	}
	r.from.Sequence = claim.Sequence
	fresh, room, foreign := e.keep(r)
	switch {
	case foreign:
		e.dropped(r, errNameTaken)
		r.excuse()
		return true
	case !room:
		l.crowded(r)
		return true
	}
	effects, err := e.registry.Requested(at, claim.Piece.Session, l.member)
	e.apply(effects)
	switch {
	case !fresh: // asked again: answered before, or still with the application
	case err != nil:
		e.answered(r)
		if errors.Is(err, ownership.ErrCapacity) {
			l.crowded(r)
		} else {
			e.dropped(r, err)
		}
	case e.registry.Refuses(claim.Piece.Session): // the answer was queued, or will be
		e.answered(r)
	default:
		p.connect("", m.Metadata, func(agent string, err error) {
			r.agent = agent
			e.hand(r, err)
		})
	}
	return true
}

// maxDeclined bounds the answers to requests that found no room and wait for one peer: who
// does not read them needs no more.
const maxDeclined = 64

var errNoRoom = errors.New("there is no room for it")

// crowded drops a request that found a full table, or its peer's share full (contract
// section 8). The peer is told that its session cannot succeed, rather than left to its
// timeout: it cancels, which is answered as any cancel, and may ask again in another
// attempt.
func (l *Link) crowded(r *Request) {
	e, p := l.peer.endpoint, l.peer
	e.dropped(r, errNoRoom)
	if n := p.turnedAway.Add(1); n&(n-1) == 0 { // one that goes on asking is not told of each time
		e.note(nil, fmt.Sprintf("request %v turned away for want of room: %d of %s by now", r.piece, n, p.name))
	}
	p.mu.Lock()
	many := len(p.out.replies) >= maxDeclined
	p.mu.Unlock()
	if !many {
		r.decline()
	}
}

// dropped counts a request that found no room, or its name taken.
func (e *Endpoint) dropped(r *Request, err error) {
	e.counts.requestsDropped.Add(1)
	e.config.Log.Warn("request dropped", "request", r.piece, "peer", r.from.Accessor, "error", err)
}

// hand gives a request to the application once the peer's metadata is loaded.
func (e *Endpoint) hand(r *Request, err error) {
	if err != nil {
		if err := r.Refuse("the peer's metadata: " + err.Error()); err != nil {
			e.config.Log.Error("refuse", "request", r.piece, "error", err)
		}
		return
	}
	e.mu.Lock()
	f := e.onRequest
	kept := e.requests.has(r)
	r.ready = true
	if kept && f != nil {
		r.handed = true
	}
	e.mu.Unlock()
	if kept && f != nil {
		go f(r)
	}
}
