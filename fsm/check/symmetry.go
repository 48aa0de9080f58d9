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
	p := &e.place[c&(maxComps-1)]
	return code >> (p.shift & 63) & p.mask
}

// exchange swaps the numbers of two neighbours of one class.
func (e *engine) exchange(code uint64, c int) uint64 {
	d := e.field(code, c-1) ^ e.field(code, c)
	return code ^ d<<(e.place[c-1].shift&63) ^ d<<(e.place[c].shift&63)
}

// sink moves the number of c down as long as the one before it is larger.
func (e *engine) sink(code uint64, c, first int) uint64 {
	for ; c > first && e.field(code, c-1) > e.field(code, c); c-- {
		code = e.exchange(code, c)
	}
	return code
}

// reorder is canonical for a code in which only component c may be out of order. A
// component that is no replica is the only one of its order.
func (e *engine) reorder(code uint64, c int) uint64 {
	p := &e.place[c&(maxComps-1)]
	at := p.shift
	for ; at < p.high; at += p.wide {
		number, before := code>>(at&63)&p.mask, code>>((at+p.wide)&63)&p.mask
		if before <= number {
			break
		}
		code ^= (number ^ before) << (at & 63)
		code ^= (number ^ before) << ((at + p.wide) & 63)
	}
	if at != p.shift {
		return code
	}
	for ; at > p.low; at -= p.wide {
		number, behind := code>>(at&63)&p.mask, code>>((at-p.wide)&63)&p.mask
		if behind >= number {
			break
		}
		code ^= (number ^ behind) << (at & 63)
		code ^= (number ^ behind) << ((at - p.wide) & 63)
	}
	return code
}
