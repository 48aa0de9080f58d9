// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// ascending hands numbers out in their order; one that was pushed twice comes out
// twice. Numbers of requests come in order nearly always: these wait in a list, and
// only the others need a heap.
type ascending struct {
	list  []uint64 // in order, from head on
	head  int
	other minHeap
}

func (a *ascending) push(n uint64) {
	if last := len(a.list) - 1; last >= a.head && n < a.list[last] {
		a.other.push(n)
		return
	}
	if a.head > len(a.list)/2 { // pays for the copy: as many were popped
		a.list = a.list[:copy(a.list, a.list[a.head:])]
		a.head = 0
	}
	a.list = append(a.list, n)
}

// popBelow takes the lowest number out if it is below the limit.
func (a *ascending) popBelow(limit uint64) (uint64, bool) {
	listed := a.head < len(a.list) && a.list[a.head] < limit
	if len(a.other) > 0 && a.other[0] < limit && !(listed && a.list[a.head] < a.other[0]) {
		return a.other.pop(), true
	}
	if !listed {
		return 0, false
	}
	a.head++
	return a.list[a.head-1], true
}

// minHeap is a heap of numbers; one that was pushed twice comes out twice.
type minHeap []uint64

func (h *minHeap) push(n uint64) {
	*h = append(*h, n)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if (*h)[up] <= (*h)[i] {
			return
		}
		(*h)[up], (*h)[i] = (*h)[i], (*h)[up]
		i = up
	}
}

func (h *minHeap) pop() uint64 {
	old := *h
	n, last := old[0], len(old)-1
	old[0] = old[last]
	*h = old[:last]
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < last && old[k] < old[least] {
				least = k
			}
		}
		if least == i {
			return n
		}
		old[i], old[least] = old[least], old[i]
		i = least
	}
}
