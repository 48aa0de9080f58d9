// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// CauseReincarnated is the cause of sessions that the end of this endpoint's life
// has ended: nothing that comes under their claims' names can be current again.
const CauseReincarnated Cause = "reincarnated"

// Reincarnate begins another life of the endpoint: every session that is ACTIVE
// FAILED, and pieces that are added from now on have claims of the new incarnation.
// What is owned stays owned, under the names that it has, and waits for proof as
// before; sequences go on, so that no name is used twice (contract §3). It proves
// nothing: what the end of the old life does prove is a Fence of its own. Errors:
// ErrInvalidArgument for an incarnation that is zero or the present one, ErrFatal.
func (r *Registry) Reincarnate(at time.Duration, life Incarnation) (Effects, error) {
	return r.call(at, func(c *core) error {
		if t := c.tracing(CallReincarnate); t != nil {
			t.Life = life
		}
		return c.reincarnate(life)
	})
}

func (c *core) reincarnate(life Incarnation) error {
	switch {
	case life.IsZero() || life == c.cfg.Incarnation:
		return fail(KindInvalid, "incarnation "+life.String(), "is zero or the present one")
	case c.fatal():
		return c.fatalError("registry")
	}
	for _, s := range c.sessionsInOrder() {
		if s.outcome() == outcome.Active {
			c.failNow(s, trigger.CauseReason, trigger.OriginLocal, CauseReincarnated)
		}
	}
	c.cfg.Incarnation = life
	c.cohorts.recent = nil // its names are of the old life
	return nil
}

// Retained lists everything that is owned and not proven free, in the order of
// admission: what Stop would refuse for.
func (r *Registry) Retained() []Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Retained
	for _, s := range r.core.sessionsInOrder() {
		list = s.retained(list)
	}
	return list
}
