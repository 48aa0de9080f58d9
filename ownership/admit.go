// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"slices"

	"github.com/kvxfer/kvxfer/gen/retirement"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

func (n SessionName) validate() error {
	switch {
	case n.Request.Endpoint == "":
		return fail(KindInvalid, "session "+n.String(), "its request has no endpoint")
	case n.Attempt == 0:
		return fail(KindInvalid, "session "+n.String(), "attempts count from 1")
	}
	return nil
}

// admit takes a session in.
func (c *core) admit(spec SessionSpec) error {
	if err := spec.Name.validate(); err != nil {
		return err
	}
	switch {
	case !spec.Side.IsValid():
		return fail(KindInvalid, spec.Name.what(), spec.Side.String())
	case spec.RequestTimeout < 0 || spec.Grace < 0:
		return fail(KindInvalid, spec.Name.what(), "a negative time limit")
	}
	r := c.knownRequest(spec.Name.Request)
	covered := r.covers(spec.Name.Attempt)
	_, err := c.admits.AdmitSession(r.known(spec.Name.Attempt), covered, r.active() != nil, c.passed(spec.Name.Request),
		c.outbox.shared >= c.cfg.Outbox, c.admitting[:0])
	if err != nil {
		detail := ": admission is " + c.currentAdmission().String()
		if other := r.active(); other != nil {
			detail = ": attempt " + other.name().String() + " is ACTIVE"
		}
		return c.refusal(err, spec.Name.what(), detail)
	}
	c.addSession(spec, r, covered)
	return nil
}

// addSession takes in what was found valid; r is the record of its request, nil if that is new.
func (c *core) addSession(spec SessionSpec, r *request, covered bool) {
	defaultTo(&spec.RequestTimeout, c.cfg.RequestTimeout)
	defaultTo(&spec.Grace, c.cfg.Grace)
	rules, _ := sessionrules.New() // neither has anything to refuse
	clock, _ := retirement.New(spec.RequestTimeout, spec.Grace)
	c.admitted++
	e := c.endpoint(spec.Name.Request.Endpoint)
	s := &session{creator: e, number: spec.Name.Request.Number, attempt: spec.Name.Attempt, order: c.admitted, side: spec.Side, rules: rules, clock: clock}
	if r == nil {
		r = e.newRequest(s.number)
	}
	r.put(attempt{number: spec.Name.Attempt, side: spec.Side, session: s})
	c.recent = s
	for _, m := range c.kept.takeAttempt(spec.Name) {
		if spec.Side == Send {
			c.visit(s, m).rules.Request(nil)
		}
	}
	c.answerOlder(spec.Name)
	if covered {
		c.cancelSession(s, r.tombstone().origin)
	}
}

// addPiece takes a piece with its region in, whole or not at all.
func (c *core) addPiece(spec PieceSpec) ([]ClaimName, error) {
	s, err := c.ownedSession(spec.Name.Session)
	if err != nil {
		return nil, err
	}
	co, err := c.mayTake(&spec, s)
	if err != nil {
		return nil, err
	}
	g := c.regions[spec.Region]
	spec.Access = spec.Access.of(s.side)
	busy := g.mayHold(spec.Access)
	before := c.admits
	_, err = c.admits.AddPiece(s.takesNothing(), c.namesDoubted(spec.Cohort), s.piece(spec.Name.Piece) != nil, busy != nil,
		c.outbox.shared >= c.cfg.Outbox, c.unread(spec.Cohort), c.admitting[:0])
	if err != nil {
		what := spec.Name.what()
		if err.(*fsm.CallError).Kind == fsm.Refused {
			busy.What = what
			return nil, busy
		}
		return nil, c.refusal(err, what, ": admission is "+c.currentAdmission().String()+", its session "+s.outcome().String())
	}
	names, err := c.addOwner(s, g, &spec, co)
	if err != nil {
		c.admits = before
	}
	return names, err
}

// unread reports whether the share in the outbox of an accessor is full.
func (c *core) unread(cohort []Member) bool {
	if c.outbox.waiting < c.outbox.share {
		return false
	}
	return slices.ContainsFunc(cohort, func(m Member) bool { return c.outbox.full(m.Accessor) })
}

// mayTake refuses a piece that is wrong in itself, or whose cohort is gone. It returns
// the cohort, nil if that is new.
func (c *core) mayTake(spec *PieceSpec, s *session) (*cohort, error) {
	co := c.knownCohort(spec.Cohort, spec.Local)
	if err := c.validatePiece(spec, s.side, co); err != nil {
		return nil, err
	}
	for i := range spec.Cohort {
		m := &spec.Cohort[i]
		if co != nil && co.peers[i].gone || co == nil && c.isGone(m.Accessor, m.Incarnation) {
			return nil, fail(KindStale, spec.Name.what(), "its cohort names "+m.String()+", which is gone")
		}
	}
	return co, nil
}

func (c *core) validatePiece(spec *PieceSpec, side Side, known *cohort) error {
	bad := func(why string) error { return fail(KindInvalid, "piece "+spec.Name.String(), why) }
	switch {
	case spec.Name.Piece == "":
		return bad("its name is empty")
	case len(spec.Cohort) == 0:
		return bad("its cohort is empty")
	case len(spec.Cohort) > MaxAccessors:
		return bad("its cohort has more than 64 accessors")
	case spec.Access > Reads:
		return bad(spec.Access.String())
	case spec.Count < 0 || spec.Count > len(spec.Cohort):
		return bad("its count is not between 1 and the number of candidates")
	case spec.Count > 0 && side != Receive:
		return bad("a count on the send side")
	case c.regions[spec.Region] == nil:
		return bad("region " + spec.Region + " is unknown")
	}
	for i := range spec.Cohort {
		if side != Send && spec.Cohort[i].Sequence != 0 {
			return bad("a receive side's cohort has no sequences")
		}
	}
	if known != nil {
		return nil // the list was found valid before
	}
	for i, m := range spec.Cohort {
		switch {
		case m.Accessor == "" || m.Accessor == Local:
			return bad("its cohort names an accessor \"" + string(m.Accessor) + "\"")
		case m.Incarnation.IsZero():
			return bad("its cohort names " + string(m.Accessor) + " without an incarnation")
		case slices.ContainsFunc(spec.Cohort[:i], func(other Member) bool { return other.Accessor == m.Accessor }):
			return bad("its cohort names " + string(m.Accessor) + " twice")
		}
	}
	return nil
}

// addOwner takes in a piece that was found valid; co is its cohort, nil if that is new.
func (c *core) addOwner(s *session, g *region, spec *PieceSpec, co *cohort) ([]ClaimName, error) {
	if _, err := s.rules.Add(nil); err != nil {
		return nil, c.refusal(err, s.name().what(), "")
	}
	o := newOwner(s.side, spec)
	if co == nil {
		co = c.newCohort(spec.Cohort, spec.Local)
	}
	o.session, o.first = s, c.sequence+1
	o.shape = c.cohorts.shape(shape{co, spec.Name.Piece, spec.Kind, spec.Count > 0})
	o.heard = newHeard(o.total(), c.now)
	c.sequence += uint64(o.total())
	co.hold(o)
	g.hold(o, spec.Access)
	s.add(o)
	if s.listed() {
		o.list()
	}
	c.unsettledOwners++
	c.counters.Admitted++
	return o.claimNames(), nil
}
