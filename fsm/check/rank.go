// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "math/bits"

// Numbers that may be exchanged ascend in a code. So there are fewer codes than
// combinations: with w words, k numbers a1 <= ... <= ak are one of C(w+k-1, k), and the
// sum of C(ai+i-1, i) counts those before them. It is a sum of one term a number, as
// the places of other components are.

// exchanged returns the set whose last replica is component c, if its replicas are
// exchanged. One that has a single replica is a number as any other.
func (e *engine) exchanged(c int) (symmetricSet, bool) {
	if e.sym {
		for _, s := range e.symmetric {
			if s.n > 1 && s.first+s.n-1 == c {
				return s, true
			}
		}
	}
	return symmetricSet{}, false
}

// rankAll sets the ranks of a set's numbers below room, times a weight, and returns how
// many places they have.
func (v *visited) rankAll(s symmetricSet, room, weight uint64) uint64 {
	for i := range s.n {
		ranks := make([]uint64, room)
		for a := range ranks {
			ranks[a] = weight * choose(uint64(a+i), uint64(i+1))
		}
		v.rank[s.first+i] = ranks
	}
	return choose(room+uint64(s.n)-1, uint64(s.n))
}

// choose is the number of ways to choose k of n, or a number that is too large for any
// bitmap.
func choose(n, k uint64) uint64 {
	c := uint64(1)
	for i := range min(k, n) {
		high, low := bits.Mul64(c, n-i)
		if c = low / (i + 1); high != 0 || c > tooMany {
			return tooMany
		}
	}
	if k > n {
		return 0
	}
	return c
}

// tooMany is more places than any memory has, and still to be multiplied.
const tooMany = 1 << 48
