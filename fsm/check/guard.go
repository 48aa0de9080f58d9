// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "math/bits"

// guard takes the condition of an instance apart. What looks at one component alone
// is decided by the word of that component, before the instance runs.
func (m *model) guard(in *instance, guard *gnode) {
	parts := []*gnode{guard}
	if guard.op == gAll {
		parts = guard.kids
	}
	for _, p := range parts {
		if p.is(1) {
			continue
		}
		if bits.OnesCount(m.components(p)) != 1 {
			in.rest = append(in.rest, p)
			continue
		}
		in.single = append(in.single, p)
		if f, ok := factOf(p); ok {
			in.facts = append(in.facts, f)
		}
	}
}

// components is the bit set of the components that g reads.
func (m *model) components(g *gnode) uint {
	support := make([]uint64, len(m.slots)/64+1)
	g.slots(support)
	comps := uint(0)
	for i, s := range m.slots {
		if support[i>>6]>>(i&63)&1 != 0 {
			comps |= 1 << s.comp
		}
	}
	return comps
}

// factOf recognises conditions that leave one value.
func factOf(g *gnode) (fact, bool) {
	switch g.op {
	case gSlot:
		return fact{g.val, 1}, true
	case gNot:
		if g.kids[0].op == gSlot {
			return fact{g.kids[0].val, 0}, true
		}
	case gEq:
		for k := range 2 {
			if g.kids[k].op == gSlot && g.kids[1-k].op == gConst {
				return fact{g.kids[k].val, g.kids[1-k].val}, true
			}
		}
	case gIn:
		if g.kids[0].op == gSlot && bits.OnesCount64(g.mask) == 1 {
			return fact{g.kids[0].val, bits.TrailingZeros64(g.mask)}, true
		}
	}
	return fact{}, false
}
