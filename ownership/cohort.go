// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// cohort is a list of lives of accessors that the claims of pieces name, in order;
// the own scatter or gather comes last. Equal lists are one cohort: a million pieces
// name few, and a life finds its claims by its cohorts.
type cohort struct {
	peers   []*peer
	slots   []int // in the peers' own lists of cohorts
	owners  []*owner
	local   bool // the last of the peers is the own one
	resting bool // waits among the idle ones
}

// maxIdle is how many cohorts without a piece are remembered: most come back soon.
const maxIdle = 64

// cohorts finds the cohorts of a registry.
type cohorts struct {
	byKey  map[string]*cohort // by the numbers of its peers
	key    []byte             // scratch
	recent *cohort            // the last that was asked for: pieces come in groups
	last   *shape             // likewise
	idle   [maxIdle]*cohort   // a ring of those that became idle
	oldest int                // in the ring
	shapes map[shape]*shape
}

// shape is what a piece has in common with those of other sessions: a chunk or a
// layer has one name everywhere.
type shape struct {
	cohort     *cohort
	name, kind string
	counted    bool // the cohort is N of a candidate superset
}

// maxShapes is how many shapes are shared; beyond it the table starts anew.
const maxShapes = 1 << 12

func (t *cohorts) init() {
	t.byKey = make(map[string]*cohort)
	t.shapes = make(map[shape]*shape)
}

// shape returns the one that is shared.
func (t *cohorts) shape(s shape) *shape {
	if t.last != nil && *t.last == s {
		return t.last
	}
	known := t.shapes[s]
	if known == nil {
		if len(t.shapes) >= maxShapes {
			clear(t.shapes)
		}
		known = &shape{s.cohort, s.name, s.kind, s.counted}
		t.shapes[s] = known
	}
	t.last = known
	return known
}

// size returns the number of accessors, without the own one.
func (co *cohort) size() int {
	if co.local {
		return len(co.peers) - 1
	}
	return len(co.peers)
}

// names reports whether the cohort is the list.
func (co *cohort) names(list []Member, local bool) bool {
	if co == nil || co.local != local || co.size() != len(list) {
		return false
	}
	for i := range list {
		if p := co.peers[i]; p.accessor != list[i].Accessor || p.incarnation != list[i].Incarnation {
			return false
		}
	}
	return true
}

// knownCohort returns the cohort of a list, nil if no piece had it lately. The list
// of one that is known was found valid.
func (c *core) knownCohort(list []Member, local bool) *cohort {
	t := &c.cohorts
	if t.recent.names(list, local) {
		return t.recent
	}
	t.key = t.key[:0]
	for i := range list {
		p := c.knownPeer(list[i].Accessor, list[i].Incarnation)
		if p == nil {
			return nil
		}
		t.key = binary.LittleEndian.AppendUint64(t.key, p.number)
	}
	if local {
		p := c.knownPeer(Local, c.cfg.Incarnation)
		if p == nil {
			return nil
		}
		t.key = binary.LittleEndian.AppendUint64(t.key, p.number)
	}
	co := t.byKey[string(t.key)]
	if co == nil || co.local != local { // a list that names Local itself is none
		return nil
	}
	t.recent = co
	return co
}

// newCohort makes the cohort of a list, which is not known.
func (c *core) newCohort(list []Member, local bool) *cohort {
	co := &cohort{local: local}
	for _, m := range list {
		co.add(c.peer(m.Accessor, m.Incarnation))
	}
	if local {
		co.add(c.peer(Local, c.cfg.Incarnation))
	}
	c.cohorts.byKey[co.key()] = co
	c.cohorts.recent = co
	return co
}

func (co *cohort) add(p *peer) {
	co.slots = append(co.slots, len(p.cohorts))
	p.cohorts = append(p.cohorts, place{co, len(co.peers)})
	co.peers = append(co.peers, p)
}

func (co *cohort) key() string {
	var key []byte
	for _, p := range co.peers {
		key = binary.LittleEndian.AppendUint64(key, p.number)
	}
	return string(key)
}

// hold adds a piece.
func (co *cohort) hold(o *owner) {
	o.place = int32(len(co.owners))
	co.owners = append(co.owners, o)
}

// leaveCohort takes a released piece out of its cohort; one that is left idle is
// remembered until many others are.
func (c *core) leaveCohort(o *owner) {
	co := o.shape.cohort
	last := len(co.owners) - 1
	co.owners[o.place] = co.owners[last]
	co.owners[o.place].place = o.place
	co.owners[last] = nil
	co.owners = co.owners[:last]
	if last > 0 || co.resting {
		return
	}
	t := &c.cohorts
	before := t.idle[t.oldest]
	t.idle[t.oldest], co.resting = co, true
	t.oldest = (t.oldest + 1) % maxIdle
	if before != nil {
		before.resting = false
		if len(before.owners) == 0 {
			c.forgetCohort(before)
		}
	}
}

// forgetCohort drops an idle cohort, and those of its peers that nothing else names.
func (c *core) forgetCohort(co *cohort) {
	t := &c.cohorts
	delete(t.byKey, co.key())
	if t.recent == co {
		t.recent = nil
	}
	for i, p := range co.peers {
		last := len(p.cohorts) - 1
		moved := p.cohorts[last]
		p.cohorts[co.slots[i]] = moved
		moved.cohort.slots[moved.index] = co.slots[i]
		p.cohorts = p.cohorts[:last]
		c.forgetIdle(p)
	}
}

// place is where a peer stands in a cohort.
type place struct {
	cohort *cohort
	index  int
}

// eachClaim visits a peer's claims in the sessions that match, in the order of
// admission.
func (c *core) eachClaim(p *peer, match func(*session) bool, visit func(o *owner, i int)) {
	type found struct {
		o *owner
		i int
	}
	var list []found
	for _, at := range p.cohorts {
		for _, o := range at.cohort.owners {
			if match(o.session) {
				list = append(list, found{o, at.index})
			}
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.o.session.order, b.o.session.order), cmp.Compare(a.o.first, b.o.first))
	})
	for _, f := range list {
		visit(f.o, f.i)
	}
}
