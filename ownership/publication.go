// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// together finds the pieces of one atomic gate action: a list that is not
// empty, without repetition, of one session.
func (c *core) together(names []PieceName) ([]*owner, error) {
	if len(names) == 0 {
		return nil, fail(KindInvalid, "piece", "the list is empty")
	}
	owners := c.scratch[:0]
	for _, n := range names {
		o, err := c.ownedPiece(n)
		if err != nil {
			return nil, err
		}
		owners = append(owners, o)
	}
	c.scratch = owners
	if len(owners) == 1 {
		return owners, nil
	}
	seen := make(map[*owner]bool, len(owners))
	for i, o := range owners {
		switch {
		case o.session != owners[0].session:
			return nil, fail(KindInvalid, names[i].what(), "is of another session than "+names[0].String())
		case seen[o]:
			return nil, fail(KindInvalid, names[i].what(), "is given twice")
		}
		seen[o] = true
	}
	return owners, nil
}

// seal publishes the claims of all candidates of all pieces, or of none.
func (c *core) seal(names []PieceName) error {
	owners, err := c.together(names)
	if err != nil {
		return err
	}
	s := owners[0].session
	switch {
	case c.fatal != nil:
		return c.fatalError(names[0].what())
	case s.outcome != outcome.Active:
		return fail(KindClosed, s.name.what(), "is "+s.outcome.String())
	case s.complete:
		return fail(KindClosed, s.name.what(), "is complete")
	}
	for _, o := range owners {
		if err := o.gateAccepts(gate.Seal); err != nil {
			return err
		}
		if l := o.localClaim(); l != nil && s.side == Send && l.state != claim.Drained {
			return fail(KindReject, o.pieceName().what(), "its gather is "+l.state.String()+", not DRAINED")
		}
	}
	for _, o := range owners {
		c.moveGate(o, gate.Seal)
		for i := range o.cohort() {
			if o.claims[i].state == claim.Unpublished {
				c.offer(o, i, claim.Publish)
			}
		}
		c.react(o)
	}
	return nil
}

// finish says that the whole fan-out returned.
func (c *core) finish(names []PieceName) error {
	owners, err := c.together(names)
	if err != nil {
		return err
	}
	for _, o := range owners {
		if err := o.gateAccepts(gate.Finish); err != nil {
			return err
		}
	}
	for _, o := range owners {
		c.moveGate(o, gate.Finish)
		c.react(o)
	}
	return nil
}

// failSend says that the fan-out ended early. It skips fenced claims.
func (c *core) failSend(name PieceName, published []Accessor) error {
	o, err := c.ownedPiece(name)
	if err != nil {
		return err
	}
	var exposed [MaxAccessors]bool
	for _, a := range published {
		i := o.find(a)
		if i < 0 || i >= o.size() {
			return fail(KindInvalid, name.what(), "published names "+string(a)+", which is not in the cohort")
		}
		if exposed[i] {
			return fail(KindInvalid, name.what(), "published names "+string(a)+" twice")
		}
		exposed[i] = true
	}
	for i := range o.cohort() {
		if exposed[i] || o.gate != gate.Publishing || !o.contradictsUnexposed(i) {
			continue
		}
		c.conflict(o)
		return fail(KindConflict, "claim "+o.claimName(c.cfg.Incarnation, i).String(), "cannot be told never to have had the address: it gave evidence")
	}
	if err := o.gateAccepts(gate.FailSend); err != nil {
		return err
	}
	c.moveGate(o, gate.FailSend)
	for i := range o.cohort() {
		if cl := &o.claims[i]; !exposed[i] && !cl.fenced && cl.state == claim.Published {
			c.offer(o, i, claim.Unexposed)
		}
	}
	c.failOwner(o, CausePublication)
	c.react(o)
	return nil
}

// contradictsUnexposed reports whether claim i gave evidence that it had the address.
func (o *owner) contradictsUnexposed(i int) bool {
	cl := &o.claims[i]
	if cl.fenced {
		return false
	}
	_, result := claim.Next(cl.state, claim.Unexposed)
	return result == fsm.Conflict || cl.state == claim.Published && cl.phase == operation.PhaseSubmitted
}

// failOwner fails a piece that has no answer yet, and with it the session.
func (c *core) failOwner(o *owner, cause Cause) {
	if o.outcome == outcome.Active {
		c.endSession(o.session, outcome.Fail, cause, c.origin)
	} else {
		c.counters.LaterCauses++
	}
}

// gateAccepts returns the refusal of an action by the gate, nil if it accepts it.
func (o *owner) gateAccepts(e gate.Event) error {
	if err := gate.Refusal(o.gate, e); err != nil {
		return &Error{Kind: KindReject, What: o.pieceName().what(), Err: err}
	}
	return nil
}

func (c *core) fatalError(what string) *Error {
	return fail(KindFatal, what, "the registry is FATAL since session "+c.fatal.Session.String()+" was not settled at its deadline")
}
