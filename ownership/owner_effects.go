// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// What the systems of owners ask for: noting, counting and telling, no decision.

// claimMoved notes that claim i moved and all that is counted by it.
func (c *core) claimMoved(o *owner, i int, e claim.Event, from claim.State) {
	to, _ := claim.Next(from, e)
	cl, m := &o.claims[i], o.member(i)
	m.count(from, -1)
	m.count(to, +1)
	cl.by, cl.since = e, c.now
	c.touch(o)
	c.log.claimMoved(c.now, o.claimName(c.cfg.Incarnation, i), e, from, to)
	switch e {
	case claim.Publish:
		c.arm(o.session)
	case claim.Doubt:
		c.doubt(m.peer)
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

func (c *core) gateMoved(o *owner, e gate.Event, from gate.State) {
	to, _ := gate.Next(from, e)
	switch gate.Publishing {
	case to:
		o.session.rules.Publish(nil) // seal was asked whether the session allows it
		o.countPublishing(+1)
	case from:
		o.countPublishing(-1)
	}
	c.touch(o)
	c.log.gateMoved(c.now, o.pieceName(), from, to)
}

// countPublishing keeps the members' totals: one gate with them more or less.
func (o *owner) countPublishing(d int) {
	for i := range o.size() {
		o.member(i).publishing += uint16(d)
	}
}

// pieceEnded: cause and origin are the session's, as a piece that fails fails it.
func (c *core) pieceEnded(o *owner, how outcome.State) {
	c.touch(o)
	c.log.pieceEnded(c.now, o, how)
	if how == outcome.Succeeded {
		c.deciding(o.session).done(o.session.rules.SucceedPiece(c.decided[:0]))
	}
}

func (c *core) invalidated(o *owner) {
	c.touch(o)
	c.log.add(&PieceInvalid{c.log.stamp(c.now), o.pieceName()})
}

// giveBack releases the memory: afterwards nothing of the owner can be found (I8).
func (c *core) giveBack(o *owner) {
	o.region.release(o)
	c.counters.Released++
	c.log.pieceReleased(c.now, o)
}

var causes = [...]Cause{
	trigger.CauseNone: "", trigger.CauseCancel: CauseCancel, trigger.CauseFailed: CauseFailed, trigger.CauseDoubt: CauseDoubt,
	trigger.CauseConflict: CauseConflict, trigger.CausePublication: CausePublication, trigger.CauseNotSubmitted: CauseNotSubmitted,
	trigger.CauseFenced: CauseFenced, trigger.CauseTimeout: CauseTimeout, trigger.CauseShutdown: CauseShutdown,
}

var origins = [...]Origin{
	trigger.OriginNobody: NoOrigin, trigger.OriginLocal: FromLocal, trigger.OriginPeer: FromPeer, trigger.OriginTimeout: FromTimeout,
}

// sessionFailed: the piece itself has ended already; the others hear of it when
// the call of this one is through.
func (c *core) sessionFailed(o *owner, why trigger.Cause, who trigger.Origin) {
	c.failWith(o.session, why, who, c.reason, c.upset(o))
}
