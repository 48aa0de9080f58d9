// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"maps"
	"slices"
	"strings"

	answerrules "github.com/kvxfer/kvxfer/gen/answer"
	memberrules "github.com/kvxfer/kvxfer/gen/member"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/report"
)

// Session returns the state of a session, and whether it is owned.
func (r *Registry) Session(name SessionName) (SessionState, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.core.owned(name)
	if s == nil {
		return SessionState{}, false
	}
	return r.core.sessionState(s), true
}

// Names reports whether anything that is owned names that life of an accessor. For a
// zero life it is any of them, and messages and requests that wait count as well.
func (r *Registry) Names(a Accessor, life Incarnation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.core
	waits := c.kept.byAccessor[a] > 0 || c.outbox.head(a) != nil
	return slices.ContainsFunc(c.lives(a, life), (*peer).named) || life.IsZero() && waits
}

// Refuses reports whether a REQUEST_DATA for a session is refused by the registry
// itself, which has answered it or will: the attempt FAILED, was CANCELLED, or is one
// that is never admitted (contract §8). It stays so while its creator's life lasts.
func (r *Registry) Refuses(name SessionName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.core.owned(name); s != nil {
		return s.stands() == memberrules.StandingFailed
	}
	a := r.core.knownRequest(name.Request).find(name.Attempt)
	return answerrules.Decide(report.MessageRequestData, r.core.standing(name, a)).Cancel
}

// Admission returns what is taken in now.
func (r *Registry) Admission() Admission {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.currentAdmission()
}

// Counters returns the totals.
func (r *Registry) Counters() Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.count()
}

// Snapshot returns everything that is owned. It takes time in proportion to
// that, under the registry's lock.
func (r *Registry) Snapshot() Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.snapshot()
}

func (c *core) count() Counters {
	n := c.counters
	n.Retained = c.unsettledOwners
	if c.fatal() {
		n.Retained = c.admits.Owners()
	}
	n.Outbox, n.Requests, n.Records = c.outbox.waiting, c.kept.n, c.records()
	n.Owners, n.Sessions, n.Tombstones = c.admits.Owners(), c.admits.Sessions(), c.admits.Tombstones()
	return n
}

func (c *core) snapshot() Snapshot {
	s := Snapshot{
		At: c.latest, Admission: c.currentAdmission(), Quarantine: c.cfg.Quarantine, Fatal: c.fatal(), ContainErr: c.containErr, Counters: c.count(),
		Doubted: slices.Collect(maps.Keys(c.doubted)),
	}
	if c.admits.LocalDoubted() {
		s.Doubted = append(s.Doubted, Local)
	}
	slices.Sort(s.Doubted)
	if c.fatal() {
		f := *c.contained
		f.Retained = slices.Clone(f.Retained)
		s.Containment = &f
	}
	for _, owned := range c.sessionsInOrder() {
		s.Sessions = append(s.Sessions, c.sessionState(owned))
	}
	slices.SortFunc(s.Sessions, func(a, b SessionState) int { return compareSessions(a.Name, b.Name) })
	for _, g := range c.regions {
		s.Regions = append(s.Regions, g.state())
	}
	slices.SortFunc(s.Regions, func(a, b RegionState) int { return strings.Compare(a.ID, b.ID) })
	for _, a := range slices.Sorted(maps.Keys(c.outbox.queues)) {
		for n := c.outbox.head(a); n != nil; n = n.next {
			s.Waiting = append(s.Waiting, n.out)
		}
	}
	return s
}

func (c *core) sessionState(s *session) SessionState {
	st := SessionState{
		Name: s.name(), Side: s.side, Outcome: s.outcome(), Cause: s.cause(), Origin: s.origin(),
		Physical: s.physical(c.fatal()), Complete: s.rules.Complete(), Settled: s.clock.Settled(),
		Armed: s.clock.Armed(), Draining: s.clock.Draining(),
	}
	if st.Armed {
		st.Expires = s.clock.Expires()
	}
	if st.Draining {
		st.DrainStart, st.Deadline = s.clock.Start(), s.clock.GraceEnds()
	}
	for _, o := range s.pieces() {
		st.Pieces = append(st.Pieces, c.pieceState(o))
	}
	return st
}

func (c *core) pieceState(o *owner) PieceState {
	st := PieceState{
		Name: o.name(), Kind: o.shape.kind, Region: o.region.id, Gate: o.gate(), Outcome: o.outcome(),
		Invalid: o.invalid(), Drained: o.isSettled() && !c.fatal(), Selected: o.selected(),
	}
	if st.Outcome == outcome.Failed || st.Outcome == outcome.Cancelled {
		st.Cause, st.Origin = o.session.cause(), o.session.origin()
	}
	if o.shape.counted {
		st.Count = o.receive.Need()
	}
	for i := range o.size() {
		st.Claims = append(st.Claims, c.claimState(o, i))
	}
	if o.hasLocal() {
		l := c.claimState(o, o.size())
		st.Local = &l
	}
	return st
}

func (c *core) claimState(o *owner, i int) ClaimState {
	return ClaimState{
		Name: o.claimName(i), State: o.state(i), Verdict: o.verdict(i), Counts: o.counts(i),
		Fenced: o.fenced(i), Gone: o.peer(i).gone, Since: o.heard.since(i), By: o.heard.by(i), Operation: o.phase(i),
	}
}
