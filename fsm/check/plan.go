// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// Most instances are decided by one word: beyond what their guard made certain they
// read one component, and they write one. For these the leaf is found by the number
// of the word that is read, and the change of the code by the number of the word
// that is written: two loads instead of a walk.

// Entries of plan, and of next in a leaf; other values are a leaf's number plus one,
// and bits of a code to flip.
const (
	unplanned = 0
	never     = ^uint32(0) // this word does not decide it
	stays     = ^uint64(0) // the word that is written stays as it is
)

// homeOf gives the component that may decide an instance: that of its replica.
func (e *engine) homeOf(i int) int {
	in := e.m.instances[i]
	if in.skipSet >= 0 {
		return e.classes[in.skipSet].comps[in.skipRep]
	}
	return -1
}

// tryPlan finds out whether the word of its home alone decides instance i, which
// has just given l in the loaded state.
func (e *engine) tryPlan(i int, l *leaf) {
	if e.home[i] < 0 {
		if len(l.writes) == 0 {
			return
		}
		e.home[i] = int(l.writes[0].comp)
	}
	in, home := e.m.instances[i], e.home[i]
	entry := &e.plan[home][int(e.idx[home])*len(e.m.instances)+i]
	if *entry != unplanned {
		return
	}
	*entry = never
	if len(in.rest) > 0 {
		return
	}
	e.r.limit = home
	e.r.start(&e.w, false)
	alone := e.perform(in)
	e.r.limit = -1
	if e.r.foreign || alone.bad || !alone.quiet || len(alone.broken) > 0 || len(alone.writes) != 1 || alone.kind != enabled {
		return
	}
	end := e.t.leaf(alone)
	e.t.leaves[end&^leafBit].comp = int(alone.writes[0].comp)
	*entry = end&^leafBit + 1
}

// flip gives the change of the code that a planned leaf makes in the loaded state:
// bits to flip, or stays.
func (e *engine) flip(l *leaf) uint64 {
	n := int(e.idx[l.comp])
	if n < len(l.next) && l.next[n] != 0 {
		return l.next[n]
	}
	w := l.writes[0]
	word := e.w[l.comp]&^w.clear | w.set
	to := e.number(l.comp, word) // may lay codes out anew, and so drop next
	x := stays
	if to != e.idx[l.comp] {
		x = uint64(to^e.idx[l.comp]) << e.shift[l.comp]
	}
	for len(l.next) <= n {
		l.next = append(l.next, 0)
		e.t.flips++
	}
	l.next[n] = x
	return x
}

// unplan drops what depends on the layout of codes.
func (e *engine) unplan() {
	for _, l := range e.t.leaves {
		l.next = nil
	}
	e.t.flips = 0
	for c := range e.flips {
		clear(e.flips[c])
	}
}
