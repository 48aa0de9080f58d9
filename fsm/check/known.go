// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// known evaluates g from what the program has read and written so far, without
// looking further; before takes the values before the step. ok says that the value
// is certain.
func (r *runner) known(g *gnode, before bool) (v int, ok bool) {
	switch g.op {
	case gConst:
		return g.val, true
	case gSlot, gOld:
		switch {
		case g.op == gSlot && !before && r.marks[g.val]&written != 0:
			return r.value[g.val], true
		case r.marks[g.val]&seenOld != 0:
			return r.before[g.val], true
		}
		return 0, false
	case gNot:
		v, ok = r.known(g.kids[0], before)
		return 1 - v, ok
	case gAll:
		return r.knownList(g, before, 0)
	case gAny:
		return r.knownList(g, before, 1)
	case gIn:
		v, ok = r.known(g.kids[0], before)
		return int(g.mask >> v & 1), ok
	case gCount:
		for _, k := range g.kids {
			kv, kok := r.known(k, before)
			if !kok {
				return 0, false
			}
			v += kv
		}
		return v, true
	}
	if len(g.kids) != 2 || g.op == gDecide {
		return 0, false
	}
	x, okx := r.known(g.kids[0], before)
	y, oky := r.known(g.kids[1], before)
	if !okx || !oky {
		return 0, false
	}
	return g.apply(x, y), true
}

func (r *runner) knownList(g *gnode, before bool, stop int) (int, bool) {
	all := true
	for _, k := range g.kids {
		v, ok := r.known(k, before)
		if ok && v == stop {
			return stop, true
		}
		all = all && ok
	}
	return 1 - stop, all
}

// certain reports whether p holds whatever the program has not looked at: for every
// value of the variables that p reads in the state before.
func (r *runner) certain(p *gprop) bool {
	var free []int
	total := 1
	for _, s := range p.old {
		if r.marks[s] == 0 {
			free = append(free, s)
			total *= r.m.slots[s].size
		}
	}
	if total > 64 {
		return false
	}
	for _, s := range free {
		r.marks[s] = seenOld
	}
	holds := true
	for i := 0; i < total && holds; i++ {
		rest := i
		for _, s := range free {
			r.before[s], rest = r.m.slots[s].lo+rest%r.m.slots[s].size, rest/r.m.slots[s].size
		}
		v, ok := r.known(p.then, false)
		holds = ok && v != 0
	}
	for _, s := range free {
		r.marks[s] = 0
	}
	return holds
}

// unchanged reports whether g certainly has the value that it had before the step.
func (r *runner) unchanged(g *gnode) bool {
	if g.op == gConst || g.op == gSlot && r.marks[g.val]&written == 0 {
		return true
	}
	same := len(g.kids) > 0
	for _, k := range g.kids {
		same = same && r.unchanged(k)
	}
	if same {
		return true
	}
	was, ok1 := r.known(g, true)
	is, ok2 := r.known(g, false)
	return ok1 && ok2 && was == is
}

// asleep reports whether a reaction that could not fire before the step cannot after
// it either. It may look at single variables to find out.
func (r *runner) asleep(when *gnode) bool {
	if r.unchanged(when) {
		return true
	}
	if v, ok := r.known(when, false); ok {
		return v == 0
	}
	if when.op != gAll {
		return false
	}
	for _, k := range when.kids {
		if k.op == gSlot || len(k.kids) > 0 && r.single(k) {
			if r.eval(k) == 0 {
				return true
			}
		}
	}
	return false
}

// single reports whether g compares one variable that belongs to no replica.
func (r *runner) single(g *gnode) bool {
	n := 0
	for _, k := range g.kids {
		switch {
		case k.op == gSlot && r.m.slots[k.val].rep < 0:
			n++
		case k.op != gConst:
			return false
		}
	}
	return n == 1
}
