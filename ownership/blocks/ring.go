// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

// ring is a queue of block numbers with room for all of them. The block that
// has been free the longest is given out first.
type ring struct {
	numbers []uint32
	head, n int
}

// newRing returns a ring that holds every number below count, in order.
func newRing(count int) ring {
	r := ring{numbers: make([]uint32, count), n: count}
	for i := range r.numbers {
		r.numbers[i] = uint32(i)
	}
	return r
}

func (r *ring) pop() uint32 {
	number := r.numbers[r.head]
	if r.head++; r.head == len(r.numbers) {
		r.head = 0
	}
	r.n--
	return number
}

func (r *ring) push(number uint32) {
	at := r.head + r.n
	if at >= len(r.numbers) {
		at -= len(r.numbers)
	}
	r.numbers[at] = number
	r.n++
}
