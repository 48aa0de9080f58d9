// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// partial is a state of which some slots are known.
type partial struct {
	val   []int
	known []bool
	same  bool // the state before is this state
}

func newPartial(slots int) *partial {
	return &partial{val: make([]int, slots), known: make([]bool, slots)}
}

// know sets every slot of a component from its word, or forgets them.
func (p *partial) know(m *model, comp int, words []uint32, known bool) {
	for i := range m.slots {
		if s := &m.slots[i]; int(s.comp) == comp {
			p.val[i], p.known[i] = s.get(words), known
		}
	}
}

// eval3 evaluates g as far as p tells; ok says that the value is certain.
func eval3(g *gnode, p *partial) (v int, ok bool) {
	switch g.op {
	case gConst:
		return g.val, true
	case gSlot, gOld:
		if g.val < len(p.known) && p.known[g.val] && (g.op == gSlot || p.same) {
			return p.val[g.val], true
		}
		return 0, false
	case gLocal:
		return 0, false
	case gNot:
		v, ok = eval3(g.kids[0], p)
		return 1 - v, ok
	case gAll:
		return eval3List(g, p, 0)
	case gAny:
		return eval3List(g, p, 1)
	case gIn:
		v, ok = eval3(g.kids[0], p)
		return int(g.mask >> v & 1), ok
	case gCount:
		for _, k := range g.kids {
			kv, kok := eval3(k, p)
			if !kok {
				return 0, false
			}
			v += kv
		}
		return v, true
	case gDecide:
		at := 0
		for i, k := range g.kids {
			kv, kok := eval3(k, p)
			if !kok {
				return 0, false
			}
			at = at*g.inputs[i] + kv
		}
		v = g.output.Answers[at]
		return v, v >= 0
	}
	x, okx := eval3(g.kids[0], p)
	y, oky := eval3(g.kids[1], p)
	if !okx || !oky {
		return 0, false
	}
	return g.apply(x, y), true
}

func eval3List(g *gnode, p *partial, stop int) (int, bool) {
	all := true
	for _, k := range g.kids {
		v, ok := eval3(k, p)
		if ok && v == stop {
			return stop, true
		}
		all = all && ok
	}
	return 1 - stop, all
}

// apply computes an operation of two values.
func (g *gnode) apply(x, y int) int {
	yes := false
	switch g.op {
	case gEq:
		yes = x == y
	case gNe:
		yes = x != y
	case gLt:
		yes = x < y
	case gLe:
		yes = x <= y
	case gAdd:
		return x + y
	case gSub:
		return x - y
	case gMin:
		return min(x, y)
	case gMax:
		return max(x, y)
	case gWould:
		return g.machine.Result[x][y]
	}
	if yes {
		return 1
	}
	return 0
}
