// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/admission"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// arm starts the request clock at the first publication; nothing extends it. A step
// has one time: asking once in it is enough.
func (c *core) arm(s *session) {
	if !s.marks.has(markArmed) {
		s.clock.Arm(c.now, nil)
		s.marks |= markArmed
	}
}

// tellClock says how the session stands after a step, where that is news; the clock
// decides whether a drain has started.
func (c *core) tellClock(s *session) {
	ended, settled, marked := s.outcome().Terminal(), s.rules.Settled(), s.marks
	s.marks &^= markArmed | markTrigger | markExpired
	switch {
	case marked.has(markExpired):
		s.clock.Expire(c.now, settled, nil) // the session has failed already
	case ended != s.clock.Ended() || settled != s.clock.Settled():
		s.clock.Update(c.now, ended, settled, marked.has(markTrigger), nil)
	case c.runs(s) == (s.place > 0):
		return // no news
	}
	c.schedule(s)
}

// runs reports whether the session has a clock that runs: under FATAL no grace does,
// as nothing retires any more.
func (c *core) runs(s *session) bool {
	return s.clock.Waits() || s.clock.Drains() && !c.fatal()
}

// schedule keeps the place of a session among the deadlines after its clock changed.
func (c *core) schedule(s *session) {
	if c.runs(s) {
		c.deadlines.fix(s)
	} else {
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
		if s.clock.Waits() {
			s.marks |= markExpired
			c.failNow(s, trigger.CauseTimeout, trigger.OriginTimeout, "")
			c.flush()
			continue
		}
		if _, err := s.clock.Exceed(due, c.fatal(), nil); err == nil {
			c.latchFatal(s, due, at)
		}
	}
}

// latchFatal closes the registry for good: a grace deadline has passed and the
// memory is not proven free. The request clocks of other sessions still run.
func (c *core) latchFatal(s *session, due, noticed time.Duration) {
	out, _ := c.admits.Latch(c.admitting[:0]) // once: under FATAL no grace runs
	c.contained = &Containment{Session: s.name(), Deadline: due, Noticed: noticed, Retained: s.retained(nil)}
	c.containDue = askedFor(out, admission.ContainEffect)
	c.log.add(&FatalLatched{c.log.stamp(due), *c.contained})
	draining := make([]*session, 0, len(c.deadlines))
	for _, s := range c.deadlines {
		if s.clock.Drains() {
			draining = append(draining, s)
		}
	}
	for _, s := range draining {
		c.deadlines.clear(s)
	}
}
