// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/retirement"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// session is all pieces of one attempt of one request on one side (contract §5).
// Its answer, completion and close are the state of a generated system. Bare:
// core serialises. There may be a million: its size matters.
type session struct {
	creator *endpoint
	number  uint64 // of the request
	order   uint64 // of admission

	clock   retirement.System
	only    [1]*owner // its piece, where it has one
	seldom  *seldom
	attempt uint32
	place   int32 // among the deadlines, plus one; 0: no clock runs
	rules   sessionrules.System
	side    Side
	ending  outcome.Event // how it has ended, until every piece has heard of it
	marks   marks
}

// marks are what the step that runs has to remember of a session.
type marks uint8

const (
	markTouched marks = 1 << iota
	markArmed         // something was published
	markTrigger       // something starts a drain (contract §6)
	markExpired       // its request clock ran out
	markQuiet         // a member of it is to be told that it is quiesced
)

func (m marks) has(one marks) bool { return m&one != 0 }

// seldom is what few sessions have; nil for the others.
type seldom struct {
	reason  Cause             // why it failed, where that is its caller's word
	pieces  []*owner          // where there are several
	byName  map[string]*owner // only with many pieces
	members []member
	listed  bool // members are all of them
}

// more returns what few sessions have, to be written.
func (s *session) more() *seldom {
	if s.seldom == nil {
		s.seldom = &seldom{}
	}
	return s.seldom
}

// manyPieces is from how many pieces on a map is worth its memory.
const manyPieces = 16

func (s *session) name() SessionName {
	return SessionName{RequestID{s.creator.name, s.number}, s.attempt}
}

// is reports whether that is the session's name.
func (s *session) is(name SessionName) bool {
	return s.number == name.Request.Number && s.attempt == name.Attempt && s.creator.name == name.Request.Endpoint
}

// pieces returns its owners in the order in which they came.
func (s *session) pieces() []*owner {
	switch {
	case s.seldom != nil && s.seldom.pieces != nil:
		return s.seldom.pieces
	case s.only[0] == nil:
		return nil
	}
	return s.only[:]
}

// piece returns the owner of that name, nil if there is none.
func (s *session) piece(name string) *owner {
	if s.seldom != nil && s.seldom.byName != nil {
		return s.seldom.byName[name]
	}
	for _, o := range s.pieces() {
		if o.shape.name == name {
			return o
		}
	}
	return nil
}

func (s *session) add(o *owner) {
	if s.only[0] == nil {
		s.only[0] = o
		return
	}
	m := s.more()
	if m.pieces == nil {
		m.pieces = append(m.pieces, s.only[0])
	}
	m.pieces = append(m.pieces, o)
	switch {
	case m.byName != nil:
		m.byName[o.shape.name] = o
	case len(m.pieces) >= manyPieces:
		m.byName = make(map[string]*owner, 2*manyPieces)
		for _, o := range m.pieces {
			m.byName[o.shape.name] = o
		}
	}
}

func (s *session) outcome() outcome.State { return s.rules.Outcome() }

// cause returns why the session FAILED or was CANCELLED.
func (s *session) cause() Cause {
	if s.rules.Cause() == trigger.CauseReason && s.seldom != nil {
		return s.seldom.reason
	}
	return causes[s.rules.Cause()]
}

// answer returns what is kept of the session once it is closed.
func (s *session) answer() attempt {
	a := attempt{number: s.attempt, side: s.side, outcome: s.outcome(), cause: s.rules.Cause(), origin: s.rules.Origin()}
	if a.cause == trigger.CauseReason {
		reason := s.cause()
		a.reason = &reason
	}
	return a
}

func (s *session) origin() Origin { return origins[s.rules.Origin()] }

// takesNothing reports whether it is terminal or complete: it takes no piece and
// publishes none.
func (s *session) takesNothing() bool { return s.outcome() != outcome.Active || s.rules.Complete() }

// physical answers whether the session's memory may be reused (contract §7).
func (s *session) physical(fatal bool) Physical {
	all := true
	for _, o := range s.pieces() {
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
