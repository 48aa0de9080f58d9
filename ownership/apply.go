// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
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
	i := int(n.Sequence - o.first)
	within := n.Sequence >= o.first && i < len(o.claims)
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

var reportEvents = [...]claim.Event{OK: claim.DoneOK, Failed: claim.DoneFailed, InDoubt: claim.Doubt, FailedQuiesced: claim.Settle}

// report is a RESULT of a peer.
func (c *core) report(e *evidence) error {
	switch {
	case !e.result.IsValid():
		return fail(KindInvalid, e.claim.what(), e.result.String())
	case e.claim.Accessor == Local:
		return fail(KindInvalid, e.claim.what(), "a local claim has no reports")
	}
	if e.from.Accessor != e.claim.Accessor {
		c.counters.Foreign++
		return fail(KindReject, e.claim.what(), "the report comes from "+string(e.from.Accessor))
	}
	o, i, err := c.resolve(&e.claim, Receive)
	if err != nil {
		return err
	}
	if i == outsider {
		return c.foreign(o, e.claim.Accessor)
	}
	if o.claims[i].fenced || o.member(i).peer.gone {
		return fail(KindStale, e.claim.what(), "its name has ended")
	}
	return c.give(o, i, reportEvents[e.result])
}

// operation is what is known of the own operation of a claim: the table decides
// (contract §2).
func (c *core) operation(e *evidence) error {
	switch {
	case !e.status.IsValid():
		return fail(KindInvalid, e.claim.what(), e.status.String())
	case e.claim.Accessor == Local:
		return fail(KindInvalid, e.claim.what(), "a local claim has no operation")
	}
	o, i, err := c.resolve(&e.claim, Send)
	if err != nil {
		return err
	}
	asking := e.status == operation.StatusSubmitting
	switch {
	case i != outsider && o.claims[i].fenced:
		return fail(KindStale, e.claim.what(), "its name has ended")
	case asking && c.fatal != nil:
		return c.fatalError(e.claim.what())
	case asking && i == outsider:
		return fail(KindReject, e.claim.what(), "is not in the cohort")
	case i == outsider:
		return c.foreign(o, e.claim.Accessor)
	}
	cl := &o.claims[i]
	d := operation.Decide(e.status, cl.state, cl.phase, o.outcome == outcome.Active)
	switch d.Action {
	case operation.ActionAccept:
		cl.phase = d.Phase
	case operation.ActionOffer:
		cl.phase = d.Phase
		return c.give(o, i, d.Event)
	case operation.ActionDuplicate:
		c.counters.Duplicates++
	case operation.ActionIgnore:
		c.counters.Ignored++
	case operation.ActionStale:
		return fail(KindStale, e.claim.what(), "its operation is no longer retained")
	case operation.ActionClosed:
		return fail(KindClosed, e.claim.what(), "the outcome is "+o.outcome.String())
	case operation.ActionConflict:
		c.conflict(o)
		return fail(KindConflict, e.claim.what(), e.status.String()+" while "+cl.state.String())
	default:
		return fail(KindReject, e.claim.what(), e.status.String()+" while "+cl.state.String())
	}
	return nil
}

// local is what happened to a piece's own scatter or gather (contract §4).
func (c *core) local(e *evidence) error {
	if !e.local.IsValid() {
		return fail(KindInvalid, e.claim.what(), e.local.String())
	}
	if e.claim.Accessor != Local {
		return fail(KindInvalid, e.claim.what(), "is not of the local accessor")
	}
	if s := c.owned(e.claim.Piece.Session); s != nil {
		if o := s.piece(e.claim.Piece.Piece); o != nil && !o.hasLocal {
			return fail(KindInvalid, e.claim.what(), "the piece has no local claim")
		}
	}
	o, i, err := c.resolve(&e.claim, 0)
	if err != nil {
		return err
	}
	cl := &o.claims[i]
	if cl.fenced {
		return fail(KindStale, e.claim.what(), "its name has ended")
	}
	switch e.local {
	case LocalStart:
		if c.fatal != nil {
			return c.fatalError(e.claim.what())
		}
		if cl.state == claim.Unpublished && !o.localMayStart() {
			return fail(KindReject, e.claim.what(), "may not start: gate "+o.gate.String()+", outcome "+o.outcome.String())
		}
		return c.give(o, i, claim.Publish)
	case LocalDoubt:
		return c.give(o, i, claim.Doubt)
	}
	if cl.state == claim.InDoubt {
		return c.give(o, i, claim.Settle)
	}
	return c.give(o, i, claim.DoneOK)
}

// localMayStart: the gather runs before anything is published, the scatter
// after everything has arrived. Failed data is never scattered.
func (o *owner) localMayStart() bool {
	if o.session.side == Send {
		return o.gate == gate.Open
	}
	return o.gate == gate.Sealed && o.outcome == outcome.Active && o.answered()
}

// ack is a SESSION_QUIESCED of a peer (contract §8).
func (c *core) ack(e *evidence) error {
	if e.from.Accessor == "" || e.from.Accessor == Local {
		return fail(KindInvalid, e.session.what(), "an acknowledgement needs an accessor")
	}
	s, err := c.ownedSession(e.session)
	if err != nil {
		return err
	}
	what := e.session.what()
	if s.side != Receive {
		return fail(KindInvalid, what, "is of the send side")
	}
	if p := c.knownPeer(e.from.Accessor, e.from.Incarnation); p != nil && p.gone {
		return fail(KindStale, what, e.from.String()+" is gone")
	}
	if len(s.pieces) == 0 {
		c.counters.Ignored++
		return nil
	}
	k, named := s.memberOf(e.from)
	if !named {
		for _, o := range s.pieces {
			c.conflict(o)
		}
		return fail(KindConflict, what, "acknowledged by "+e.from.String()+", which is in no cohort")
	}
	switch {
	case k < 0:
		return fail(KindStale, what, e.from.String()+" is another incarnation than the cohort's")
	case s.outcome == outcome.Active:
		c.counters.Ignored++
		return nil
	case s.members[k].unfenced == 0:
		return fail(KindStale, what, "every name of "+e.from.String()+" has ended")
	}
	return c.acknowledge(s, k)
}

// memberOf returns the member's index, -1 where the session names only other
// lives of the accessor, and whether it names the accessor at all.
func (s *session) memberOf(m Member) (k int, named bool) {
	for k := range s.members {
		if p := s.members[k].peer; p.accessor == m.Accessor {
			if p.incarnation == m.Incarnation {
				return k, true
			}
			named = true
		}
	}
	return -1, named
}

// acknowledge offers acked to the member's claims whose gate is not PUBLISHING.
func (c *core) acknowledge(s *session, k int) error {
	for _, o := range s.pieces {
		for i := range o.cohort() {
			if cl := &o.claims[i]; int(cl.member) != k || cl.fenced {
				continue
			}
			if o.gate == gate.Publishing {
				c.counters.Ignored++
				continue
			}
			if c.offer(o, i, claim.Acked) == fsm.Moved {
				c.react(o)
			}
		}
	}
	return nil
}
