// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// effectLog collects the effects of one call. The frequent ones come out of
// slabs, so that a call costs a fraction of an allocation.
type effectLog struct {
	seq     uint64
	room    []Effect // for lists
	pending int      // in room: effects of the call that runs

	claims   slab[ClaimMoved]
	gates    slab[GateMoved]
	ended    slab[SessionEnded]
	answered slab[PieceEnded]
	settled  slab[SessionSettled]
	closed   slab[SessionClosed]
	released slab[Released]
	queued   slab[Queued]
}

func (l *effectLog) stamp(at time.Duration) Stamp {
	l.seq++
	return Stamp{l.seq, at}
}

func (l *effectLog) add(e Effect) {
	if l.pending == len(l.room) { // the list goes on in a slab of its own
		room := make([]Effect, max(2*l.pending, slabSize))
		copy(room, l.room)
		l.room = room
	}
	l.room[l.pending] = e
	l.pending++
}

func (l *effectLog) claimMoved(at time.Duration, o *owner, i int, e claim.Event, from, to claim.State) {
	m := l.claims.one()
	*m = ClaimMoved{l.stamp(at), e, from, to, uint8(i), o}
	l.add(m)
}

func (l *effectLog) gateMoved(at time.Duration, name PieceName, from, to gate.State) {
	m := l.gates.one()
	*m = GateMoved{l.stamp(at), name, from, to}
	l.add(m)
}

func (l *effectLog) sessionEnded(at time.Duration, s *session) {
	e := l.ended.one()
	*e = SessionEnded{l.stamp(at), s.name(), s.outcome(), s.cause(), s.origin()}
	l.add(e)
}

func (l *effectLog) pieceEnded(at time.Duration, o *owner, how outcome.State) {
	e := l.answered.one()
	*e = PieceEnded{Stamp: l.stamp(at), Piece: o.name(), Outcome: how}
	if how != outcome.Succeeded {
		e.Cause, e.Origin = o.session.cause(), o.session.origin()
	}
	l.add(e)
}

func (l *effectLog) sessionSettled(at time.Duration, name SessionName) {
	e := l.settled.one()
	*e = SessionSettled{l.stamp(at), name}
	l.add(e)
}

func (l *effectLog) sessionClosed(at time.Duration, s *session) {
	e := l.closed.one()
	*e = SessionClosed{l.stamp(at), s.name(), s.outcome(), s.cause(), s.origin()}
	l.add(e)
}

func (l *effectLog) pieceReleased(at time.Duration, o *owner) {
	e := l.released.one()
	*e = Released{l.stamp(at), o.name(), o.region.id}
	l.add(e)
}

func (l *effectLog) messageQueued(at time.Duration, out Outgoing) {
	e := l.queued.one()
	*e = Queued{l.stamp(at), out}
	l.add(e)
}

// take returns what was collected, in a slice of the caller's own.
func (l *effectLog) take() Effects {
	n := l.pending
	if n == 0 {
		return nil
	}
	out := l.room[:n:n]
	l.pending, l.room = 0, l.room[n:]
	return out
}

// slabSize is small enough that one effect which somebody keeps does not hold much.
const slabSize = 64

type slab[T any] struct {
	all  *[slabSize]T
	used int
}

func (s *slab[T]) one() *T {
	if s.all == nil || s.used == slabSize {
		s.all, s.used = new([slabSize]T), 0
	}
	s.used++
	return &s.all[s.used-1]
}
