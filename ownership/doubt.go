// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// Doubt is what is in doubt about one life of an accessor.
type Doubt struct {
	Accessor    Accessor
	Incarnation Incarnation // zero for Local
	Claims      int         // IN_DOUBT now, > 0
	// Since is when the oldest of them went into doubt.
	Since time.Duration
}

// Doubts returns what is in doubt now, by accessor and incarnation: for
// metrics, at a lower cost than a snapshot. It takes time in proportion to what
// is owned by sessions with an accessor in doubt, and next to none without one.
func (r *Registry) Doubts() []Doubt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.doubts()
}

func (c *core) doubts() (list []Doubt) {
	for _, lives := range c.peers {
		for _, p := range lives {
			if p.doubts > 0 {
				list = append(list, Doubt{p.accessor, p.incarnation, p.doubts, c.oldestDoubt(p)})
			}
		}
	}
	slices.SortFunc(list, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Accessor, b.Accessor), bytes.Compare(a.Incarnation[:], b.Incarnation[:]))
	})
	return list
}

// oldestDoubt returns when the first of a peer's doubts began; it has one.
func (c *core) oldestDoubt(p *peer) time.Duration {
	oldest := c.latest
	c.eachClaim(p, func(*session) bool { return true }, func(o *owner, i int) {
		if o.state(i) == claim.InDoubt {
			oldest = min(oldest, o.heard.since(i))
		}
	})
	return oldest
}
