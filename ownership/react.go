// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// react applies the rules that hold at every moment to an owner whose claims or
// gate changed (contract §4): the piece fails when success has become
// impossible, N candidates that count exclude the others, and complete evidence
// is a success.
func (c *core) react(o *owner) {
	if o.outcome == outcome.Active && o.hopeless() {
		c.endSession(o.session, outcome.Fail, c.cause, c.origin)
	}
	c.choose(o)
	if o.outcome == outcome.Active && o.delivered() {
		c.endPiece(o, outcome.Succeed)
		c.succeedIfDone(o.session)
	}
}

// hopeless reports whether the piece can no longer succeed: a failed result
// that counts, too few accessors that can still deliver, or a local claim that
// cannot.
func (o *owner) hopeless() bool {
	able := 0
	for i := range o.cohort() {
		cl := &o.claims[i]
		if cl.counts() && !cl.delivered() {
			return true
		}
		if cl.canDeliver() {
			able++
		}
	}
	if able < int(o.need) {
		return true
	}
	l := o.localClaim()
	return l != nil && !l.canDeliver()
}

// choose is the selection of a counted cohort: when N candidates count, only
// they may ever have written, so every other one that is PUBLISHED was never
// exposed. Those in doubt, acknowledged or fenced keep needing their own proof.
func (c *core) choose(o *owner) {
	if !o.counted || o.selected || o.counting() < int(o.need) {
		return
	}
	o.selected = true
	for i := range o.cohort() {
		if o.claims[i].state == claim.Published {
			c.offer(o, i, claim.Unexposed)
		}
	}
}

// counting returns how many accessors count now.
func (o *owner) counting() int {
	n := 0
	for i := range o.cohort() {
		if o.claims[i].counts() {
			n++
		}
	}
	return n
}

// answered reports complete positive evidence of the cohort: as many as must
// count do, each that counts delivered, and none but the local claim is live.
func (o *owner) answered() bool {
	n := 0
	for i := range o.cohort() {
		cl := &o.claims[i]
		if cl.state.Live() || cl.counts() && !cl.delivered() {
			return false
		}
		if cl.counts() {
			n++
		}
	}
	return n >= int(o.need)
}

// delivered reports whether the piece may be SUCCEEDED (I4, I5).
func (o *owner) delivered() bool {
	if o.gate != gate.Sealed || o.invalid || !o.answered() {
		return false
	}
	l := o.localClaim()
	return l == nil || l.delivered()
}

// abort is what the end of a session does to one of its pieces: a gate that is
// still OPEN becomes ABORTED, and what was never published never will be (I2).
func (c *core) abort(o *owner) {
	if o.gate == gate.Open {
		c.moveGate(o, gate.Cancel)
	}
	if o.count[claim.Unpublished] == 0 {
		return
	}
	for i := range o.claims {
		if o.claims[i].state == claim.Unpublished {
			c.offer(o, i, claim.Withdraw)
		}
	}
}

// moveGate offers an action to the gate, which accepts it: the caller has asked.
func (c *core) moveGate(o *owner, e gate.Event) {
	to, result := gate.Next(o.gate, e)
	if result != fsm.Moved {
		return
	}
	from := o.gate
	o.gate = to
	o.session.countGate(o, from, -1)
	o.session.countGate(o, to, +1)
	c.touch(o)
	c.log.gateMoved(c.now, o.pieceName(), from, to)
}

// countGate keeps the session's totals: one gate more or less in g.
func (s *session) countGate(o *owner, g gate.State, d int) {
	switch g {
	case gate.Open:
		s.open += int32(d)
	case gate.Publishing:
		for i := range o.cohort() {
			o.member(i).publishing += uint16(d)
		}
	}
}
