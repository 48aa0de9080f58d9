// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// lives returns the known lives of an accessor: one, or all where life is zero.
func (c *core) lives(a Accessor, life Incarnation) []*peer {
	var out []*peer
	for _, p := range c.peers[a] {
		if life.IsZero() || p.incarnation == life {
			out = append(out, p)
		}
	}
	return out
}

// fence ends the names of the claims that the scope reaches, and is proof for
// them (contract §3). All names end before anything follows from one of them.
func (c *core) fence(e *evidence) error {
	a, life := e.from.Accessor, e.from.Incarnation
	if a == "" || !e.scope.IsValid() {
		return fail(KindInvalid, "fence of "+string(a), e.scope.String())
	}
	lives := c.lives(a, life)
	reaches := func(s *session) bool {
		if a == Local {
			return e.scope != Passive
		}
		return e.scope.reaches(s.side)
	}
	for _, p := range lives {
		c.eachClaim(p, reaches, c.endName)
		p.endVisits(reaches)
	}
	if a != Local {
		c.discard(a, life, e.scope)
		if e.scope.reaches(Send) {
			c.kept.takeFrom(func(m Member) bool { return m.Accessor == a && (life.IsZero() || m.Incarnation == life) })
		}
		if e.scope == All {
			c.retireTombstones(a, life)
		}
	}
	for _, p := range lives {
		c.eachClaim(p, reaches, c.fenceClaim)
	}
	c.strikeOut(a)
	return nil
}

// endVisits forgets what a peer asked for in the sessions that match: a later
// request or cancel is its next life's.
func (p *peer) endVisits(match func(*session) bool) {
	end := func(s *session) {
		if m := s.member(p); m != nil && match(s) {
			m.rules.Fence(nil)
		}
	}
	for _, s := range p.visits {
		if s != nil && !s.rules.Closed() {
			end(s)
		}
	}
	for _, at := range p.cohorts {
		for _, o := range at.cohort.owners {
			end(o.session)
		}
	}
}

// endName counts a name that the fence is about to end.
func (c *core) endName(o *owner, i int) {
	if m := o.session.member(o.peer(i)); m != nil && !o.fenced(i) {
		m.unfenced--
	}
}

// gone is doubt to the live claims of a life that is known to have ended.
func (c *core) gone(e *evidence) error {
	if e.from.Accessor == "" || e.from.Accessor == Local {
		return fail(KindInvalid, "accessor "+string(e.from.Accessor), "cannot be gone")
	}
	for _, p := range c.lives(e.from.Accessor, e.from.Incarnation) {
		p.gone = true
		c.eachClaim(p, func(*session) bool { return true }, c.goneClaim)
	}
	return nil
}
