// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

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
