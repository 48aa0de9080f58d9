// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "slices"

// peer is one life of an accessor, as one life of the registry's own endpoint knows
// it. The own scatter and gather are the peer named Local. It is known while a
// cohort or a session names it.
type peer struct {
	accessor    Accessor
	incarnation Incarnation
	self        Incarnation // the registry's own
	number      uint64      // never used again
	gone        bool        // reports and acknowledgements of it are stale
	doubts      int         // claims IN_DOUBT
	cohorts     []place     // that it is in

	visits []*session // that list it though no piece named it
	dead   int        // of visits: closed ones, and nil where one was
	// How far a compaction of visits has come: those before kept stay, from
	// there to seen all are nil. Both are 0 while none runs.
	kept, seen int
}

// sweepSteps is how many places a leaving session looks at: a compaction of n
// places takes n/4 leavings.
const sweepSteps = 4

// maxIdleRoom is how long an empty list may be that is kept for later.
const maxIdleRoom = 64

// leave counts a visited session that was closed. The list is compacted when half
// of it is dead, a few places at each leaving: no caller waits for a long list.
func (p *peer) leave() {
	p.dead++
	if p.dead == len(p.visits) {
		if cap(p.visits) > maxIdleRoom {
			p.visits = nil
		}
		clear(p.visits)
		p.visits, p.dead, p.kept, p.seen = p.visits[:0], 0, 0, 0
		return
	}
	for n := 0; n < sweepSteps && (p.seen > 0 || 2*p.dead >= len(p.visits)); n++ {
		p.sweep()
	}
}

// sweep looks at one place of the list.
func (p *peer) sweep() {
	s := p.visits[p.seen]
	p.visits[p.seen] = nil
	p.seen++
	if !s.rules.Closed() {
		p.visits[p.kept] = s
		p.kept++
	}
	if p.seen == len(p.visits) {
		p.dead -= p.seen - p.kept
		p.visits, p.kept, p.seen = p.visits[:p.kept], 0, 0
	}
}

func (p *peer) local() bool { return p.accessor == Local }

func (p *peer) member() Member { return Member{Accessor: p.accessor, Incarnation: p.incarnation} }

// named reports whether anything that is owned names the peer: a cohort that is
// remembered without a piece does not.
func (p *peer) named() bool {
	return len(p.visits) > 0 || slices.ContainsFunc(p.cohorts, func(at place) bool { return len(at.cohort.owners) > 0 })
}

// knownPeer returns the record of that life, nil if nothing names it now.
func (c *core) knownPeer(a Accessor, i Incarnation) *peer {
	for _, p := range c.peers[a] {
		if p.incarnation == i && p.self == c.cfg.Incarnation {
			return p
		}
	}
	return nil
}

// isGone reports whether that life is known to be gone.
func (c *core) isGone(a Accessor, i Incarnation) bool {
	for _, p := range c.peers[a] {
		if p.incarnation == i && p.gone {
			return true
		}
	}
	return false
}

// peer returns the record of that life, a new one if there is none.
func (c *core) peer(a Accessor, i Incarnation) *peer {
	p := c.knownPeer(a, i)
	if p == nil {
		c.met++
		p = &peer{accessor: a, incarnation: i, self: c.cfg.Incarnation, number: c.met, gone: c.isGone(a, i)}
		c.peers[a] = append(c.peers[a], p)
	}
	return p
}

// forgetIdle drops the record of a life that nothing names any more.
func (c *core) forgetIdle(p *peer) {
	if len(p.cohorts)+len(p.visits) > 0 {
		return
	}
	list := slices.DeleteFunc(c.peers[p.accessor], func(q *peer) bool { return q == p })
	if len(list) == 0 {
		delete(c.peers, p.accessor)
	} else {
		c.peers[p.accessor] = list
	}
}
