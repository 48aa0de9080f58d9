// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// offer gives an event to claim i, moves and counts. What a conflict does to
// the owner is the caller's: it says whether there is one.
func (c *core) offer(o *owner, i int, e claim.Event) fsm.Result {
	to, result := claim.Next(o.claims[i].state, e)
	switch result {
	case fsm.Moved:
		c.move(o, i, e, to)
	case fsm.Duplicate:
		c.counters.Duplicates++
	case fsm.Ignored:
		c.counters.Ignored++
	}
	return result
}

// offerResult gives an ordinary result to claim i, and then to its verdict
// where the claim moved or called it a duplicate (contract §2). A conflict of
// either is one, and is then not counted as a duplicate.
func (c *core) offerResult(o *owner, i int, e claim.Event, v verdict.Event) fsm.Result {
	cl := &o.claims[i]
	if _, result := claim.Next(cl.state, e); result == fsm.Moved || result == fsm.Duplicate {
		said, second := verdict.Next(cl.verdict, v)
		if second == fsm.Conflict {
			if result == fsm.Moved {
				c.offer(o, i, e)
			}
			return fsm.Conflict
		}
		cl.verdict = said
	}
	return c.offer(o, i, e)
}

// move puts claim i into a state and notes all that follows from the move itself.
func (c *core) move(o *owner, i int, e claim.Event, to claim.State) {
	cl, m := &o.claims[i], o.member(i)
	from := cl.state
	o.count[from]--
	o.count[to]++
	m.count(from, -1)
	m.count(to, +1)
	cl.state, cl.by, cl.since = to, e, c.now
	c.touch(o)
	c.log.claimMoved(c.now, o.claimName(c.cfg.Incarnation, i), e, from, to)
	if o.session.side == Send && i < o.size() {
		c.reportMove(o, i, from, to)
	}
	switch e {
	case claim.Publish:
		c.arm(o.session)
	case claim.Doubt:
		c.doubt(o, m.peer)
	}
}

// count keeps the member's and the peer's totals: one claim more or less in s.
func (m *member) count(s claim.State, d int) {
	if s.Live() {
		m.live += uint16(d)
	}
	if s == claim.InDoubt {
		m.peer.doubts += d
	}
}

// doubt is what a doubt that moved a claim does beyond the claim: quarantine,
// drain start, and the end of what is still ACTIVE (contract §4, §7).
func (c *core) doubt(o *owner, p *peer) {
	if c.cfg.Quarantine != QuarantineOff {
		c.doubted[p.accessor] = struct{}{}
	}
	c.endSession(o.session, outcome.Fail, CauseDoubt, c.origin)
}

// conflict latches the owner: it is never drained and never released (I7), and
// what is still ACTIVE of its session has failed.
func (c *core) conflict(o *owner) {
	c.counters.Conflicts++
	if !o.invalid {
		o.invalid = true
		c.log.add(&PieceInvalid{c.log.stamp(c.now), o.pieceName()})
	}
	c.touch(o)
	c.endSession(o.session, outcome.Fail, CauseConflict, c.origin)
}
