// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"math/bits"
)

// exchangeable tries, in state number head, whether an exchange of two neighbours makes
// no difference to what can follow. It is no proof, but a spec that treats replicas
// differently, as by the order of a loop, seldom gets past a few states.
func (x *explorer) exchangeable(head int) bool {
	for {
		width := x.width
		same := x.sameAfterExchange(x.q.at(head), width)
		if x.width == width {
			return same
		}
		// A word was met for which codes have no room: they are laid out anew, and
		// what was gathered is in the old layout.
	}
}

// sameAfterExchange tries it with codes of that width, and gives up when it changes.
func (x *explorer) sameAfterExchange(code uint64, width uint) bool {
	var want map[uint64]bool
	for _, s := range x.symmetric {
		for c := s.first + 1; c < s.first+s.n; c++ {
			if x.field(code, c-1) == x.field(code, c) {
				continue
			}
			if want == nil {
				want = x.followers(code)
			}
			if x.width != width {
				return false
			}
			if !maps.Equal(want, x.followers(x.exchange(code, c))) || x.width != width {
				return false
			}
		}
	}
	return true
}

// followers is the set of states after one step, up to exchange, and nothing left out.
func (x *explorer) followers(code uint64) map[uint64]bool {
	out := map[uint64]bool{}
	x.load(code)
	mask := make([]uint64, x.stride)
	x.sym = false
	x.candidates(mask)
	x.sym = true
	for k, m := range mask {
		for ; m != 0; m &= m - 1 {
			l := x.leafOf(k<<6 | bits.TrailingZeros64(m))
			if l.kind == enabled {
				next, _ := x.apply(l)
				out[x.canonical(next)] = true
			}
		}
	}
	return out
}
