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
	o.count(i, from, to)
	o.heard.set(i, c.now, e)
	c.touch(o)
	c.log.claimMoved(c.now, o, i, e, from, to)
	switch e {
	case claim.Publish:
		c.arm(o.session)
	case claim.Doubt:
		c.doubt(o.peer(i))
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
	c.log.gateMoved(c.now, o.name(), from, to)
}

// pieceEnded: cause and origin are the session's, as a piece that fails fails it.
func (c *core) pieceEnded(o *owner, how outcome.State) {
	c.log.pieceEnded(c.now, o, how)
	if how == outcome.Succeeded {
		c.deciding(o.session).done(o.session.rules.SucceedPiece(c.decided[:0]))
	}
}

func (c *core) invalidated(o *owner) {
	c.log.add(&PieceInvalid{c.log.stamp(c.now), o.name()})
}

// giveBack releases the memory: afterwards nothing of the owner can be found (I8).
func (c *core) giveBack(o *owner) {
	o.region.release(o)
	c.leaveCohort(o)
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
