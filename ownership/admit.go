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
	covered := r != nil && r.covers(spec.Name.Attempt)
	before := c.admits
	_, err := c.admits.AdmitSession(r.known(spec.Name.Attempt), covered, r.active() != nil, c.passed(spec.Name.Request),
		c.outbox.waiting >= c.cfg.Outbox, c.admitting[:0])
	if err == nil {
		if err := c.addSession(spec, covered); err != nil {
			c.admits = before
			return err
		}
		return nil
	}
	detail := ": admission is " + c.currentAdmission().String()
	if other := r.active(); other != nil {
		detail = ": attempt " + other.name.String() + " is ACTIVE"
	}
	return c.refusal(err, spec.Name.what(), detail)
}

func (c *core) addSession(spec SessionSpec, covered bool) error {
	defaultTo(&spec.RequestTimeout, c.cfg.RequestTimeout)
	defaultTo(&spec.Grace, c.cfg.Grace)
	rules, _ := sessionrules.New() // nothing to refuse
	clock, err := retirement.New(spec.RequestTimeout, spec.Grace)
	if err != nil {
		return c.refusal(err, spec.Name.what(), "")
	}
	c.admitted++
	s := &session{name: spec.Name, order: c.admitted, side: spec.Side, rules: rules, clock: clock}
	r := c.request(spec.Name.Request)
	r.put(attempt{number: spec.Name.Attempt, side: spec.Side, session: s})
	c.touchSession(s)
	for _, m := range c.kept.takeAttempt(spec.Name) {
		if spec.Side == Send {
			s.members[c.join(s, m.Accessor, m.Incarnation)].rules.Request(nil)
		}
	}
	c.answerOlder(spec.Name)
	if covered {
		c.cancelSession(s, r.tombstone.origin)
	}
	return nil
}

// addPiece takes a piece with its region in, whole or not at all.
func (c *core) addPiece(spec PieceSpec) ([]ClaimName, error) {
	s, err := c.ownedSession(spec.Name.Session)
	if err != nil {
		return nil, err
	}
	if err := c.mayTake(&spec, s); err != nil {
		return nil, err
	}
	g := c.regions[spec.Region]
	spec.Access = spec.Access.of(s.side)
	busy := g.mayHold(spec.Access)
	before := c.admits
	_, err = c.admits.AddPiece(s.takesNothing(), c.namesDoubted(spec.Cohort), s.piece(spec.Name.Piece) != nil, busy != nil,
		c.outbox.waiting >= c.cfg.Outbox, c.admitting[:0])
	if err != nil {
		what := spec.Name.what()
		if err.(*fsm.CallError).Kind == fsm.Refused {
			busy.What = what
			return nil, busy
		}
		return nil, c.refusal(err, what, ": admission is "+c.currentAdmission().String()+", its session "+s.outcome().String())
	}
	names, err := c.addOwner(s, g, &spec)
	if err != nil {
		c.admits = before
	}
	return names, err
}

// mayTake refuses a piece that is wrong in itself, or whose cohort is gone.
func (c *core) mayTake(spec *PieceSpec, s *session) error {
	if err := c.validatePiece(spec, s.side); err != nil {
		return err
	}
	for _, m := range spec.Cohort {
		if p := c.knownPeer(m.Accessor, m.Incarnation); p != nil && p.gone {
			return fail(KindStale, spec.Name.what(), "its cohort names "+m.String()+", which is gone")
		}
	}
	return nil
}

func (c *core) validatePiece(spec *PieceSpec, side Side) error {
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
	for i, m := range spec.Cohort {
		switch {
		case m.Accessor == "" || m.Accessor == Local:
			return bad("its cohort names an accessor \"" + string(m.Accessor) + "\"")
		case m.Incarnation.IsZero():
			return bad("its cohort names " + string(m.Accessor) + " without an incarnation")
		case m.Sequence != 0 && side != Send:
			return bad("a receive side's cohort has no sequences")
		}
		for _, other := range spec.Cohort[:i] {
			if other.Accessor == m.Accessor {
				return bad("its cohort names " + string(m.Accessor) + " twice")
			}
		}
	}
	return nil
}

func (c *core) addOwner(s *session, g *region, spec *PieceSpec) ([]ClaimName, error) {
	n := len(spec.Cohort)
	if len(s.members)+n+1 > maxMembers {
		return nil, fail(KindCapacity, spec.Name.what(), "its session is full")
	}
	o, err := newOwner(s.side, spec)
	if err != nil {
		return nil, c.refusal(err, spec.Name.what(), "")
	}
	if _, err := s.rules.Add(nil); err != nil {
		return nil, c.refusal(err, s.name.what(), "")
	}
	o.session, o.name, o.kind, o.first = s, spec.Name.Piece, spec.Kind, c.sequence+1
	o.counted, o.hasLocal = spec.Count > 0, spec.Local
	total := n
	if spec.Local {
		total++
	}
	o.claims = make([]claimed, total)
	s.members = slices.Grow(s.members, total)
	for i := range o.claims {
		m := Member{Accessor: Local, Incarnation: c.cfg.Incarnation}
		if i < n {
			m = spec.Cohort[i]
		}
		k := c.join(s, m.Accessor, m.Incarnation)
		s.members[k].unfenced++
		o.claims[i] = claimed{since: c.now, member: uint16(k)}
	}
	c.sequence += uint64(total)
	g.hold(o, spec.Access)
	s.add(o)
	c.unsettledOwners++
	c.counters.Admitted++
	c.touch(o)
	names := make([]ClaimName, total)
	for i := range names {
		names[i] = o.claimName(c.cfg.Incarnation, i)
	}
	return names, nil
}
