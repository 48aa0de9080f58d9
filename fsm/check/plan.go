// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// Most instances are decided by one word: beyond what their guard made certain they
// read one component, and they write one. For these the leaf is found by the number
// of the word that is read, and the change of the code by the number of the word
// that is written: two loads instead of a walk, and one where both are the same.

// Entries of plan. Others are bits of a code to flip, or, with planned, a leaf's number.
const (
	unknown = uint64(0)
	planned = uint64(1) << 63
	never   = ^uint64(0) // this word does not decide it
)

// stays says in a leaf's next that the word that is written stays as it is.
const stays = ^uint64(0)

// nowhere is the home of an instance that has none yet.
const nowhere = maxComps

// homeOf gives the component that may decide an instance: that of its replica.
func (e *engine) homeOf(i int) uint8 {
	in := e.m.instances[i]
	if in.skipSet >= 0 {
		return uint8(e.classes[in.skipSet].comps[in.skipRep])
	}
	return nowhere
}

// tryPlan finds out whether the word of its home alone decides instance i, which
// has just given l in the loaded state.
func (e *engine) tryPlan(i int, l *leaf) {
	if e.home[i] == nowhere {
		if len(l.writes) == 0 {
			return
		}
		e.home[i] = l.writes[0].comp
	}
	in, home := e.m.instances[i], int(e.home[i])
	entry := &e.plan[e.row[home]*len(e.m.instances)+i]
	if *entry != unknown {
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
	if e.r.foreign {
		return
	}
	if end := e.t.leaf(alone) &^ leafBit; e.t.leaves[end].simple {
		*entry = planned | uint64(end)
	}
}

// follow gives what a leaf that is planned changes in the loaded state: the component
// and bits of the code to flip, or stays. It is not done where the entry, at its place
// in the plan, is none, or the leaf meets this word for the first time.
func (e *engine) follow(at int, home uint8, entry uint64) (comp uint8, flip uint64, done bool) {
	if entry == unknown || entry == never {
		return 0, 0, false
	}
	l := e.t.leaves[entry&^planned]
	n := int(e.idx[l.comp&(maxComps-1)])
	if n >= len(l.next) || l.next[n] == unknown {
		return 0, 0, false
	}
	if flip = l.next[n]; l.comp == home && flip != stays {
		e.plan[at] = flip
	}
	return l.comp, flip, true
}

// change gives the bits of the code that a leaf flips in the loaded state, or stays.
func (e *engine) change(l *leaf) uint64 {
	if n := int(e.idx[l.comp&(maxComps-1)]); n < len(l.next) && l.next[n] != unknown {
		return l.next[n]
	}
	return e.firstChange(l)
}

// firstChange finds out what change tells from then on.
func (e *engine) firstChange(l *leaf) uint64 {
	c, w := int(l.comp), l.writes[0]
	to := e.number(c, e.w[c]&^w.clear|w.set) // may lay codes out anew, and so drop next
	if e.full {
		return stays
	}
	n := int(e.idx[c])
	flip := stays
	if to != e.idx[c] {
		flip = uint64(to^e.idx[c]) << e.place[c].shift
		if e.local != nil {
			e.local.note(e.m.comps[c].class, e.idx[c], to)
		}
	}
	for len(l.next) <= n {
		l.next = append(l.next, unknown)
		e.t.flips++
	}
	l.next[n] = flip
	return flip
}

// unplan drops what depends on the layout of codes.
func (e *engine) unplan() {
	for _, l := range e.t.leaves {
		l.next = nil
	}
	e.t.flips = 0
	for k, entry := range e.plan {
		if entry < planned {
			e.plan[k] = unknown
		}
	}
}
