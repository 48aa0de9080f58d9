// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/retirement"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// session is all pieces of one attempt of one request on one side (contract §5).
// Its answer, completion and close are the state of a generated system. Bare:
// core serialises. There may be a million: its size matters.
type session struct {
	name  SessionName
	order uint64 // of admission

	deadline time.Duration // while place > 0
	clock    retirement.System
	place    int32 // among the deadlines, plus one; 0: no clock runs
	rules    sessionrules.System
	side     Side

	touched bool
	ending  outcome.Event // how it has ended, until every piece has heard of it
	trigger bool          // something in this step starts a drain (contract §6)
	expired bool          // its request clock ran out in this step
	quiet   bool          // a member of it is to be told in this step that it is quiesced

	pieces  []*owner
	single  [1]*owner // room for the first piece
	seldom  *seldom
	members []member
}

// seldom is what few sessions have; nil for the others.
type seldom struct {
	reason Cause             // why it failed, where that is its caller's word
	byName map[string]*owner // only with many pieces
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

func (s *session) hasMany() bool { return s.seldom != nil && s.seldom.byName != nil }

// piece returns the owner of that name, nil if there is none.
func (s *session) piece(name string) *owner {
	if s.hasMany() {
		return s.seldom.byName[name]
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
	case s.hasMany():
		s.seldom.byName[o.name] = o
	case len(s.pieces) >= manyPieces:
		byName := make(map[string]*owner, 2*manyPieces)
		for _, o := range s.pieces {
			byName[o.name] = o
		}
		s.more().byName = byName
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

func (s *session) origin() Origin { return origins[s.rules.Origin()] }

// takesNothing reports whether it is terminal or complete: it takes no piece and
// publishes none.
func (s *session) takesNothing() bool { return s.outcome() != outcome.Active || s.rules.Complete() }

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
