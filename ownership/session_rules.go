// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/outcome"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// failWith fails the session; a caller's own word is kept with the first answer.
func (c *core) failWith(s *session, why trigger.Cause, who trigger.Origin, reason Cause, upset bool) {
	if s.outcome() == outcome.Active && why == trigger.CauseReason {
		s.more().reason = reason
	}
	c.deciding(s).done(s.rules.Fail(why, who, upset, c.decided[:0]))
}

// failNow is failWith where no call of a piece waits for the end of its own.
func (c *core) failNow(s *session, why trigger.Cause, who trigger.Origin, reason Cause) {
	c.failWith(s, why, who, reason, false)
	c.spread(s)
}

func (c *core) cancelSession(s *session, who Origin) {
	c.deciding(s).done(s.rules.Cancel(asked[who], c.decided[:0]))
	c.spread(s)
}

// stopSession is shutdown; a session that has its answer keeps it.
func (c *core) stopSession(s *session) {
	c.deciding(s).done(s.rules.Stop(c.decided[:0]))
	c.spread(s)
}

// asked are the origins that a cancel may have.
var asked = [...]trigger.Origin{FromLocal: trigger.OriginLocal, FromPeer: trigger.OriginPeer}

// deciding is one call of a session's system, to carry its effects out.
type deciding struct {
	*core
	s *session
}

func (c *core) deciding(s *session) deciding { return deciding{c, s} }

// done carries the effects out, but the end of the pieces: spread follows, when the
// call of the piece that brought it about is through.
func (d deciding) done(out []sessionrules.Effect, err error) error {
	c, s := d.core, d.s
	c.decided = out[:0]
	for k := range out {
		switch e := &out[k]; e.Kind {
		case sessionrules.TriggerDrainEffect:
			s.marks |= markTrigger
			c.touchSession(s)
		case sessionrules.EndPiecesEffect:
			s.ending = e.By
		case sessionrules.EndedEffect:
			c.touchSession(s)
			if s.ending == 0 {
				c.log.sessionEnded(c.now, s)
			}
		case sessionrules.LaterCauseEffect:
			c.counters.LaterCauses++
		}
	}
	return err
}

// spread brings a session's end to its pieces, if it has just ended.
func (c *core) spread(s *session) {
	how := s.ending
	if how == 0 {
		return
	}
	s.ending = 0
	for _, o := range s.pieces() {
		c.endOwner(o, how)
	}
	c.log.sessionEnded(c.now, s)
}

// upset reports whether the owner counts as settled and no longer is: from now on
// it does not.
func (c *core) upset(o *owner) bool {
	if !o.settled || o.isSettled() {
		return false
	}
	o.settled = false
	c.unsettledOwners++
	return true
}
