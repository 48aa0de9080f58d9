// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// firstStates enumerates the values that the spec leaves open.
func (x *explorer) firstStates() {
	words := make([]uint32, maxComps)
	var open []int
	for i := range x.m.slots {
		s := &x.m.slots[i]
		if s.v.InitAny {
			open = append(open, i)
		} else {
			s.put(words, s.v.Init)
		}
	}
	var rec func(k int)
	rec = func(k int) {
		if k < len(open) {
			s := &x.m.slots[open[k]]
			tried := cmp.Or(s.v.Tried, s.v.Type)
			for v := range tried.Size(0) {
				s.put(words, v+tried.Low())
				rec(k + 1)
			}
			return
		}
		x.firstState(words)
	}
	rec(0)
}

func (x *explorer) firstState(words []uint32) {
	copy(x.w[:maxComps], words)
	copy(x.w[maxComps:], words)
	x.r.start(&x.w, true)
	if !x.r.yes(x.m.initially) {
		return
	}
	copy(x.mid[:maxComps], words)
	if end := x.react0(); len(x.m.reactions) > 0 {
		for _, w := range x.t.leaves[end&^leafBit].writes {
			x.mid[w.comp] = x.mid[w.comp]&^w.clear | w.set
		}
	}
	code := x.encode(append([]uint32{}, x.mid[:maxComps]...))
	copy(x.w[:maxComps], x.mid[:maxComps])
	copy(x.w[maxComps:], x.mid[:maxComps])
	if !x.seen.add(code) {
		return
	}
	x.q.push(code)
	for _, p := range x.m.props {
		if p.prop.Kind == load.OfState {
			x.r.start(&x.w, true)
			if x.r.eval(p.then) == 0 {
				x.broken(p.prop, x.q.n-1, -1)
			}
		}
	}
}
