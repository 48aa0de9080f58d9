// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

// session is all pieces of one attempt of one request on one side (contract §5).
// Bare: core serialises. There may be a million: its size matters.
type session struct {
	name  SessionName
	cause Cause
	order uint64 // of admission

	grace    time.Duration
	expires  time.Duration // of the request clock; until it is armed, how long it will run
	start    time.Duration // of the drain, once draining
	deadline time.Duration // while place > 0
	place    int32         // among the deadlines, plus one; 0: no clock runs

	unsettled int32 // pieces
	open      int32 // gates
	succeeded int32 // pieces

	side    Side
	outcome outcome.State
	origin  Origin

	complete bool
	closed   bool
	settled  bool // as of the last flush
	touched  bool
	ending   outcome.Event // how it has ended, until every piece has heard of it
	trigger  bool          // something in this step starts a drain (contract §6)
	cancels  bool          // send side: it has ended just now and its peers are to be told
	armed    bool          // the request clock has a start
	draining bool          // the drain has a start

	pieces  []*owner
	single  [1]*owner         // room for the first piece
	byName  map[string]*owner // only with many pieces
	members []member
}

// manyPieces is from how many pieces on a map is worth its memory.
const manyPieces = 16

// piece returns the owner of that name, nil if there is none.
func (s *session) piece(name string) *owner {
	if s.byName != nil {
		return s.byName[name]
	}
	for _, o := range s.pieces {
		if o.name == name {
			return o
		}
	}
	return nil
}

func (s *session) add(o *owner) {
	if s.pieces == nil {
		s.pieces = s.single[:0]
	}
	s.pieces = append(s.pieces, o)
	switch {
	case s.byName != nil:
		s.byName[o.name] = o
	case len(s.pieces) >= manyPieces:
		s.byName = make(map[string]*owner, 2*manyPieces)
		for _, o := range s.pieces {
			s.byName[o.name] = o
		}
	}
}

// graceEnds returns the deadline of the drain; draining is true.
func (s *session) graceEnds() time.Duration { return later(s.start, s.grace) }

// failed reports whether the session is FAILED or CANCELLED.
func (s *session) failed() bool {
	return s.outcome == outcome.Failed || s.outcome == outcome.Cancelled
}

// physical answers whether the session's memory may be reused (contract §7).
func (s *session) physical(fatal bool) Physical {
	all := true
	for _, o := range s.pieces {
		if o.inDoubt() {
			return PhysicalInDoubt
		}
		all = all && o.isSettled() && !fatal
	}
	if all {
		return PhysicalRetired
	}
	return PhysicalDraining
}

// endSession gives the session its answer, if it has none, and brings it to
// every piece (contract §5). Later answers are counted.
func (c *core) endSession(s *session, e outcome.Event, cause Cause, origin Origin) {
	if c.answer(s, e, cause, origin); s.ending != 0 {
		c.spread(s)
	}
}

// answer gives the session its answer; spread must follow once s.ending is set.
func (c *core) answer(s *session, e outcome.Event, cause Cause, origin Origin) {
	if e != outcome.Succeed {
		s.trigger = true
	}
	c.touchSession(s)
	now, moved := answerOf(s.outcome, e)
	if !moved {
		c.counters.LaterCauses++
		return
	}
	s.outcome, s.ending = now, e
	if e != outcome.Succeed {
		s.cause, s.origin = cause, origin
		s.cancels = s.side == Send
	}
}

// spread brings a session's end to its pieces; one that succeeds has it from them.
func (c *core) spread(s *session) {
	how := s.ending
	s.ending = 0
	if how != outcome.Succeed {
		for _, o := range s.pieces {
			c.endOwner(o, how)
		}
	}
	c.log.sessionEnded(c.now, s)
}

// succeedIfDone commits the session's success (contract §5).
func (c *core) succeedIfDone(s *session) {
	if s.outcome == outcome.Active && s.complete && int(s.succeeded) == len(s.pieces) {
		c.endSession(s, outcome.Succeed, "", NoOrigin)
	}
}
