// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// symmetricSet is the replicas of one set, whose words may be exchanged.
type symmetricSet struct{ first, n int }

// twin is a replica, beside the one before it, with the instances that are the same
// for both of them while their words are equal.
type twin struct {
	comp int
	same []uint64
}

// neighbours finds the twins.
func (e *engine) neighbours() {
	for _, s := range e.symmetric {
		for c := s.first + 1; c < s.first+s.n; c++ {
			t := twin{c, make([]uint64, e.stride)}
			for i, in := range e.m.instances {
				if in.skipSet >= 0 && e.classes[in.skipSet].comps[in.skipRep] == c {
					t.same[i>>6] |= 1 << (i & 63)
				}
			}
			e.twins = append(e.twins, t)
		}
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
// Replicas stand side by side in a code, the first one highest.
func (e *engine) reorder(code uint64, c int) uint64 {
	set := &e.symOf[c&(maxComps-1)]
	if set.n == 0 {
		return code
	}
	mask, wide, from := e.maskW[c&(maxComps-1)], e.wide[c&(maxComps-1)], e.shift[c&(maxComps-1)]
	at := from
	for high := e.shift[set.first&(maxComps-1)]; at < high; at += wide {
		number, before := code>>(at&63)&mask, code>>((at+wide)&63)&mask
		if before <= number {
			break
		}
		code ^= (number ^ before) << (at & 63)
		code ^= (number ^ before) << ((at + wide) & 63)
	}
	if at != from {
		return code
	}
	for low := e.shift[(set.first+set.n-1)&(maxComps-1)]; at > low; at -= wide {
		number, behind := code>>(at&63)&mask, code>>((at-wide)&63)&mask
		if behind >= number {
			break
		}
		code ^= (number ^ behind) << (at & 63)
		code ^= (number ^ behind) << ((at - wide) & 63)
	}
	return code
}
