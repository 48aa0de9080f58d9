// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAscending: numbers that come mostly in order, some twice, go out from the least on,
// up to a limit; what has gone out takes no more room than what waits.
func TestAscending(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var a ascending
		var waits []uint64
		next := uint64(0)
		for range 60 {
			switch rng.IntN(6) {
			case 0: // out of order
				n := rng.Uint64N(next + 1)
				a.push(n)
				waits = append(waits, n)
			case 1:
				limit := rng.Uint64N(next + 2)
				slices.Sort(waits)
				for n, ok := a.popBelow(limit); ok; n, ok = a.popBelow(limit) {
					if len(waits) == 0 || n != waits[0] || n >= limit {
						t.Fatalf("%d comes out below %d, and %v wait", n, limit, waits)
					}
					waits = waits[1:]
				}
				if len(waits) > 0 && waits[0] < limit {
					t.Fatalf("nothing comes out below %d, and %v wait", limit, waits)
				}
			default:
				next += rng.Uint64N(3)
				a.push(next)
				waits = append(waits, next)
				if a.head > len(a.list)/2 {
					t.Fatalf("%d of %d places are for what has gone out", a.head, len(a.list))
				}
			}
		}
	}
}

// TestMinHeap: what was pushed comes out from the least on.
func TestMinHeap(t *testing.T) {
	for n := range 40 {
		var h minHeap
		var want, got []uint64
		for i := range uint64(n) {
			h.push(i * 29 % 31)
			want = append(want, i*29%31)
		}
		slices.Sort(want)
		for len(h) > 0 {
			got = append(got, h.pop())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestMinHeapInAnyOrder: of the same numbers, pushed in every order, the least is first.
func TestMinHeapInAnyOrder(t *testing.T) {
	var push func(list, rest []uint64)
	push = func(list, rest []uint64) {
		for i, n := range rest {
			push(append(slices.Clip(list), n), slices.Delete(slices.Clone(rest), i, i+1))
		}
		if len(rest) > 0 {
			return
		}
		var h minHeap
		for _, n := range list {
			h.push(n)
		}
		for want := range uint64(len(list)) {
			if got := h.pop(); got != want {
				t.Fatalf("after pushes of %v: %d comes out, want %d", list, got, want)
			}
		}
	}
	for n := range uint64(6) {
		var rest []uint64
		for i := range n {
			rest = append(rest, i)
		}
		push(nil, rest)
	}
}
