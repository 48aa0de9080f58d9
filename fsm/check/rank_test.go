// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "testing"

// TestRanks: ascending numbers have places of their own, without a gap.
func TestRanks(t *testing.T) {
	for k := 1; k <= 5; k++ {
		for room := 1; room <= 6; room++ {
			const weight = 3
			var v visited
			total := v.rankAll(symmetricSet{first: 2, n: k}, uint64(room), weight)
			seen := map[uint64]bool{}
			var visit func(i, least int, at uint64)
			visit = func(i, least int, at uint64) {
				if i == k {
					if seen[at] || at%weight != 0 || at >= weight*total {
						t.Errorf("%d numbers below %d: place %d comes twice or is out of range", k, room, at)
					}
					seen[at] = true
					return
				}
				for a := least; a < room; a++ {
					visit(i+1, a, at+v.rank[2+i][a])
				}
			}
			visit(0, 0, 0)
			if uint64(len(seen)) != total {
				t.Errorf("%d numbers below %d: %d places used of %d", k, room, len(seen), total)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct{ n, k, want uint64 }{
		{0, 0, 1}, {5, 0, 1}, {5, 2, 10}, {5, 5, 1}, {2, 3, 0}, {52, 5, 2598960},
		{1 << 20, 2, 549755289600}, {1 << 31, 4, tooMany}, {1 << 62, 3, tooMany},
	} {
		if got := choose(tc.n, tc.k); got != tc.want {
			t.Errorf("choose(%d, %d) = %d, want %d", tc.n, tc.k, got, tc.want)
		}
	}
}

// TestTooManyPlaces: a product that no number holds is no small one.
func TestTooManyPlaces(t *testing.T) {
	e := &engine{sym: true, m: &model{}, symmetric: []symmetricSet{{first: 0, n: 6}}}
	e.classes = []*class{{words: make([]word, 1000)}, {words: make([]word, 58254)}} // room for 1126 and 65536
	for c := range 7 {
		e.m.comps = append(e.m.comps, component{class: c / 6})
	}
	v := newVisited(e)
	if v.bitmap(1<<20) || v.bits != nil {
		t.Errorf("a bitmap of %d words", len(v.bits))
	}
}
