// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// arm starts the request clock at the first publication; nothing extends it.
func (c *core) arm(s *session) {
	if !s.armed {
		s.armed, s.expires = true, later(c.now, s.expires)
	}
}

// drain sets the drain start, if something in this step triggers one: the first
// trigger that finds the session not settled, or makes it so. Nothing moves a
// deadline that is ahead (I10); a trigger that takes a settled session's proof
// back after its deadline starts a new one. Before a publication nothing is at
// risk and no clock runs, unless evidence without one contradicts.
func (c *core) drain(s *session, was bool) {
	if !s.trigger {
		return
	}
	s.trigger = false
	switch {
	case was && s.settled:
	case !s.draining:
		if s.armed || !s.settled {
			s.draining, s.start = true, c.now
		}
	case was && c.now >= s.graceEnds():
		s.start = c.now
	}
}

// schedule keeps the session's earliest deadline. A settled session has none,
// and under FATAL no grace runs: nothing retires any more.
func (c *core) schedule(s *session) {
	switch {
	case s.rules.Closed():
		c.deadlines.clear(s)
	case s.outcome() == outcome.Active && s.armed:
		c.deadlines.set(s, s.expires)
	case s.outcome().Terminal() && !s.settled && s.draining && c.fatal == nil:
		c.deadlines.set(s, s.graceEnds())
	default:
		c.deadlines.clear(s)
	}
}

// judge applies every deadline up to at, in the order of the deadlines and each
// at its own time. A deadline is half open: at itself is too late.
func (c *core) judge(at time.Duration) {
	for {
		due, ok := c.deadlines.next()
		if !ok || due > at {
			return
		}
		s := c.deadlines[0]
		c.now = due
		if s.outcome() == outcome.Active {
			c.failNow(s, trigger.CauseTimeout, trigger.OriginTimeout, "")
			c.flush()
			continue
		}
		c.latchFatal(s, due, at)
	}
}

// latchFatal closes the registry for good: a grace deadline has passed and the
// memory is not proven free. The request clocks of other sessions still run.
func (c *core) latchFatal(s *session, due, noticed time.Duration) {
	c.fatal = &Containment{Session: s.name, Deadline: due, Noticed: noticed, Retained: s.retained(nil)}
	c.containDue = true
	c.log.add(&FatalLatched{c.log.stamp(due), *c.fatal})
	draining := make([]*session, 0, len(c.deadlines))
	for _, s := range c.deadlines {
		if s.outcome() != outcome.Active {
			draining = append(draining, s)
		}
	}
	for _, s := range draining {
		c.deadlines.clear(s)
	}
}
