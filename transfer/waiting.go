// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"iter"
	"slices"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// waiting are the requests that were not answered yet. Whoever creates a request
// id (contract section 3), anybody can name it: several peers may ask under one
// name, and none of them takes it from the others by asking first. The
// endpoint's mu guards it.
type waiting struct {
	byName map[ownership.SessionName][]*Request
	byPeer map[ownership.Accessor]int // how many of each, where there are any
	n      int
}

func (w *waiting) has(r *Request) bool { return slices.Contains(w.byName[r.piece.Session], r) }

func (w *waiting) add(r *Request) {
	w.byName[r.piece.Session] = append(w.byName[r.piece.Session], r)
	w.byPeer[r.from.Accessor]++
	w.n++
}

// knows reports whether a piece of one peer's life waits already.
func (w *waiting) knows(r *Request) bool {
	return slices.ContainsFunc(w.byName[r.piece.Session], func(q *Request) bool { return q.piece == r.piece && q.isFrom(r.from) })
}

// remove takes a request out and reports whether it was there.
func (w *waiting) remove(r *Request) bool {
	name := r.piece.Session
	list := w.byName[name]
	i := slices.Index(list, r)
	if i < 0 {
		return false
	}
	w.n--
	if w.byPeer[r.from.Accessor]--; w.byPeer[r.from.Accessor] == 0 {
		delete(w.byPeer, r.from.Accessor)
	}
	if len(list) == 1 {
		delete(w.byName, name)
	} else {
		w.byName[name] = slices.Delete(list, i, i+1)
	}
	return true
}

func (w *waiting) all() iter.Seq2[ownership.SessionName, *Request] {
	return func(yield func(ownership.SessionName, *Request) bool) {
		for name, list := range w.byName {
			for _, r := range list {
				if !yield(name, r) {
					return
				}
			}
		}
	}
}

var errNameTaken = errors.New("another session has the name")

// keep remembers a request until it is answered. It reports whether it is new,
// whether there was room for it, and whether its name is that of a session in
// which the peer asks for nothing.
func (e *Endpoint) keep(r *Request) (fresh, room, foreign bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := r.piece.Session
	if s := e.sessions[name]; s != nil && s.admitted {
		foreign = s.side != ownership.Send || !s.has(r.from.Accessor)
		if foreign || s.answers(r.piece.Piece) {
			return false, true, foreign
		}
	}
	if e.requests.knows(r) {
		return false, true, false
	}
	if e.requests.n >= e.config.Requests || e.requests.byPeer[r.from.Accessor] >= e.config.PeerRequests {
		return false, false, false
	}
	e.requests.add(r)
	return true, true, false
}

// waits reports whether a request still waits for its answer.
func (e *Endpoint) waits(r *Request) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests.has(r)
}

// parting is what a refusal may tell of a name that others have to do with as well.
type parting uint8

const (
	_      parting = iota
	alone          // nobody else has to do with the name: it can be cancelled
	others         // the name is another session's: nothing of this peer's ever will be held under it
	shared         // others wait under the name, and this peer may ask once more before it hears
)

// partFrom says what a refusal of r is about. Unless it is about everything under the
// name, the peer's other requests under it are withdrawn: whoever answers one at this
// moment finds that out in waits, since the session of an answer is known before.
func (e *Endpoint) partFrom(r *Request) parting {
	e.mu.Lock()
	defer e.mu.Unlock()
	name, how := r.piece.Session, others
	if s := e.sessions[name]; s != nil && s.admitted {
		if s.side == ownership.Send && s.has(r.from.Accessor) {
			return alone
		}
	} else if how = shared; !slices.ContainsFunc(e.requests.byName[name], func(q *Request) bool { return q.from.Accessor != r.from.Accessor }) {
		return alone
	}
	for _, q := range slices.Clone(e.requests.byName[name]) {
		if q.from.Accessor == r.from.Accessor && e.requests.remove(q) && q != r {
			close(q.withdrawn)
		}
	}
	return how
}

// mayCancel reports whether a peer may end what goes on under a name. It may end
// a live session that it is a party of, and requests that wait where it asked
// as well or created the name; of others it is told only that it has no part in
// them. The contract says nothing of a cancel from outside (section 8); a name
// under which nothing is known takes anybody's, ahead of time (section 7).
func (e *Endpoint) mayCancel(name ownership.SessionName, peer ownership.Accessor) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[name]; s != nil {
		return s.has(peer) || s.Answer().Outcome != outcome.Active
	}
	list := e.requests.byName[name]
	return len(list) == 0 || name.Request.Endpoint == string(peer) ||
		slices.ContainsFunc(list, func(r *Request) bool { return r.from.Accessor == peer })
}

// excuse tells the peer, and nobody else, that nothing of its request is held
// here and never will be.
func (r *Request) excuse() {
	if p := r.endpoint.lookup(r.from.Accessor); p != nil {
		name := wireSession(r.piece.Session)
		p.reply(r.from.Incarnation, wire.CancelSession{Session: name, From: wire.Send}, wire.SessionQuiesced{Session: name})
	}
}

// decline tells the peer that its session cannot succeed here. What is held of it
// is another question, which the peer's own cancel asks.
func (r *Request) decline() {
	if p := r.endpoint.lookup(r.from.Accessor); p != nil {
		p.reply(r.from.Incarnation, wire.CancelSession{Session: wireSession(r.piece.Session), From: wire.Send})
	}
}

// answered forgets a request.
func (e *Endpoint) answered(r *Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests.remove(r)
}

// withdrawSession forgets the requests of a session that its peer has cancelled.
func (e *Endpoint) withdrawSession(name ownership.SessionName, from ownership.Member) {
	e.withdraw(func(r *Request) bool { return r.piece.Session == name && r.isFrom(from) })
}

// withdraw forgets the requests that match: their peers need no answer.
func (e *Endpoint) withdraw(match func(*Request) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []*Request
	for _, r := range e.requests.all() {
		if match(r) {
			list = append(list, r)
		}
	}
	for _, r := range list {
		e.requests.remove(r)
		close(r.withdrawn)
	}
}
