// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// apply runs one call that carries evidence, under the evidence's own time.
func (c *core) apply(e *evidence) (Effects, error) {
	c.begin(e.at)
	var err error
	switch e.kind {
	case evidenceOperation:
		c.cause = CauseNotSubmitted
		err = c.operation(e)
	case evidenceReport:
		c.origin = FromPeer
		err = c.report(e)
	case evidenceAck:
		c.origin = FromPeer
		err = c.ack(e)
	case evidenceLocal:
		err = c.local(e)
	case evidenceFence:
		c.cause = CauseFenced
		err = c.fence(e)
	case evidenceGone:
		c.origin = FromPeer
		err = c.gone(e)
	}
	return c.end(err)
}

// outsider is the index of an accessor that is not in the cohort.
const outsider = -1

// resolve finds the claim of a name on the given side. An accessor outside of
// the cohort, under a name that is otherwise current, is the outsider: conflict
// is judged before a fence's stale (contract §11).
func (c *core) resolve(n *ClaimName, side Side) (*owner, int, error) {
	stale := func(why string) (*owner, int, error) {
		return nil, 0, fail(KindStale, n.what(), why)
	}
	s := c.owned(n.Piece.Session)
	if s == nil {
		return stale("its session is not owned")
	}
	if side != 0 && s.side != side {
		return nil, 0, fail(KindInvalid, n.what(), "is of a "+s.side.String()+" session")
	}
	if n.Owner != c.cfg.Incarnation {
		return stale("its owner is another incarnation of this endpoint")
	}
	o := s.piece(n.Piece.Piece)
	if o == nil {
		return stale("its piece is not owned")
	}
	offset := n.Sequence - o.first // wraps for one that is smaller
	within := offset < uint64(len(o.claims))
	i := int(offset)
	if within && o.member(i).peer.accessor == n.Accessor {
		if o.member(i).peer.incarnation != n.Incarnation {
			return stale("it names another incarnation of " + string(n.Accessor))
		}
		return o, i, nil
	}
	if !within || o.find(n.Accessor) >= 0 {
		return stale("its sequence is not the current one")
	}
	if p := c.knownPeer(n.Accessor, n.Incarnation); p != nil && p.gone {
		return stale("its accessor's incarnation is gone")
	}
	return o, outsider, nil
}

// foreign is evidence from outside of the cohort.
func (c *core) foreign(o *owner, a Accessor) error {
	c.conflict(o)
	return fail(KindConflict, o.pieceName().what(), "evidence of "+string(a)+", which is not in the cohort")
}

// judged turns what a claim said of an event into the call's answer.
func (c *core) judged(o *owner, i int, was claim.State, e claim.Event, result fsm.Result) error {
	switch result {
	case fsm.Conflict:
		c.conflict(o)
		err := claim.Refusal(was, e)
		if err == nil {
			err = verdict.Refusal(o.claims[i].verdict, verdictOf(e))
		}
		return &Error{Kind: KindConflict, What: "claim " + o.claimName(c.cfg.Incarnation, i).String(), Err: err}
	case fsm.Rejected:
		return &Error{Kind: KindReject, What: "claim " + o.claimName(c.cfg.Incarnation, i).String(), Err: claim.Refusal(was, e)}
	case fsm.Moved:
		c.react(o)
	}
	return nil
}

// give offers any event to claim i and answers the call.
func (c *core) give(o *owner, i int, e claim.Event) error {
	was := o.claims[i].state
	if v := verdictOf(e); v != 0 {
		return c.judged(o, i, was, e, c.offerResult(o, i, e, v))
	}
	return c.judged(o, i, was, e, c.offer(o, i, e))
}

// verdictOf returns what a claim's event says about delivery, 0 for nothing.
func verdictOf(e claim.Event) verdict.Event {
	switch e {
	case claim.DoneOK:
		return verdict.DoneOK
	case claim.DoneFailed:
		return verdict.DoneFailed
	}
	return 0
}
