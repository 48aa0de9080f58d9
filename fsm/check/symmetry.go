// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// symmetricSet is the replicas of one set, whose words may be exchanged.
type symmetricSet struct{ first, n int }

// neighbours prepares which instances are the same for two equal replicas.
func (e *engine) neighbours() {
	e.equal = make([][]uint64, len(e.m.comps))
	for i, in := range e.m.instances {
		if in.skipSet < 0 {
			continue
		}
		comp := e.classes[in.skipSet].comps[in.skipRep]
		if e.equal[comp] == nil {
			e.equal[comp] = make([]uint64, e.stride)
		}
		e.equal[comp][i>>6] |= 1 << (i & 63)
	}
}

// canonical exchanges equal replicas so that their numbers ascend.
func (e *engine) canonical(code uint64) uint64 {
	if !e.sym {
		return code
	}
	for _, s := range e.symmetric {
		for c := s.first + 1; c < s.first+s.n; c++ {
			code = e.sink(code, c, s.first)
		}
	}
	return code
}

// field reads the number of a component from a code.
func (e *engine) field(code uint64, c int) uint64 {
	return code >> (e.shift[c&(maxComps-1)] & 63) & e.maskW[c&(maxComps-1)]
}

// exchange swaps the numbers of two neighbours of one class.
func (e *engine) exchange(code uint64, c int) uint64 {
	d := e.field(code, c-1) ^ e.field(code, c)
	return code ^ d<<(e.shift[(c-1)&(maxComps-1)]&63) ^ d<<(e.shift[c&(maxComps-1)]&63)
}

// sink moves the number of c down as long as the one before it is larger.
func (e *engine) sink(code uint64, c, first int) uint64 {
	for ; c > first && e.field(code, c-1) > e.field(code, c); c-- {
		code = e.exchange(code, c)
	}
	return code
}

// reorder is canonical for a code in which only component c may be out of order.
func (e *engine) reorder(code uint64, c int) uint64 {
	s := &e.symOf[c&(maxComps-1)]
	if !e.sym || s.n == 0 {
		return code
	}
	code = e.sink(code, c, s.first)
	for c++; c < s.first+s.n && e.field(code, c-1) > e.field(code, c); c++ {
		code = e.exchange(code, c)
	}
	return code
}
