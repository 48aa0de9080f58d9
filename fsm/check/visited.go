// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "math/bits"

// visited is the set of codes seen. It is a hash set at first. Once a bitmap over
// every combination of the words seen so far is no larger, it is that bitmap.
type visited struct {
	table []uint64 // code+1; 0 is empty
	bits  []uint64
	n     int
	shift uint
	e     *engine
	// A state's place in the bitmap is the sum of its numbers times these weights, and
	// of the ranks of those that may be exchanged; room is how many words of each class
	// fit.
	weight [maxComps]uint64
	rank   [maxComps][]uint64 // by number; see rank.go
	room   []int
	moved  func() // called when it has become a bitmap
}

func newVisited(e *engine) *visited {
	v := &visited{e: e, moved: func() {}}
	v.grow(10)
	return v
}

func (v *visited) grow(bits uint) {
	v.table, v.shift = make([]uint64, 1<<bits), 64-bits
}

const golden = 0x9e3779b97f4a7c15

// add puts a code into the set and reports whether it is new.
func (v *visited) add(code uint64) bool {
	if v.bits != nil {
		return v.mark(v.place(code))
	}
	table := v.table
	mask := uint64(len(table) - 1)
	for i := code * golden >> (v.shift & 63); ; i++ {
		switch slot := &table[i&mask]; *slot {
		case 0:
			*slot = code + 1
			v.n++
			if v.n > len(v.table)/4*3 {
				v.enlarge()
			}
			return true
		case code + 1:
			return false
		}
	}
}

// place is where a code stands in the bitmap.
func (v *visited) place(code uint64) uint64 {
	e, at := v.e, uint64(0)
	if !e.sym {
		for c := range e.compOf {
			at += e.field(code, c) * v.weight[c&(maxComps-1)]
		}
		return at
	}
	for c := range e.compOf {
		n := e.field(code, c)
		if ranks := v.rank[c&(maxComps-1)]; ranks != nil {
			at += ranks[n]
		} else {
			at += n * v.weight[c&(maxComps-1)]
		}
	}
	return at
}

func (v *visited) mark(at uint64) bool {
	w, b := &v.bits[at>>6], uint64(1)<<(at&63)
	if *w&b != 0 {
		return false
	}
	*w |= b
	v.n++
	return true
}

// fits makes room for every word that is known, if that is simple: the words of the
// first component are the highest digit of a place. It reports whether there is room.
func (v *visited) fits() bool {
	if v.bits == nil {
		return true
	}
	for k, c := range v.e.classes {
		if len(c.words) <= v.room[k] {
			continue
		}
		if k != v.e.m.comps[0].class || len(c.comps) > 1 {
			return false
		}
		v.room[k] = len(c.words) + len(c.words)/8
		bits := make([]uint64, v.weight[0]*uint64(v.room[k])>>6+1)
		copy(bits, v.bits)
		v.bits = bits
	}
	return true
}

// enlarge doubles the hash set, or turns it into a bitmap that is no larger.
func (v *visited) enlarge() {
	old, size := v.table, 2*len(v.table)
	if v.bitmap(size) {
		v.n = 0
		for _, c := range old {
			if c != 0 {
				v.mark(v.place(c - 1))
			}
		}
		v.moved()
		return
	}
	v.grow(64 - v.shift + 1)
	mask := uint64(size - 1)
	for _, c := range old {
		if c == 0 {
			continue
		}
		i := (c - 1) * golden >> v.shift
		for v.table[i&mask] != 0 {
			i++
		}
		v.table[i&mask] = c
	}
}

// bitmap makes an empty bitmap with room for some more words, if it takes no more
// than so many 64-bit words.
func (v *visited) bitmap(most int) bool {
	v.room = v.room[:0]
	for _, c := range v.e.classes {
		n := len(c.words)
		v.room = append(v.room, n+n/8+1)
	}
	total := uint64(1)
	for c := len(v.e.m.comps) - 1; c >= 0; c-- {
		v.weight[c] = total
		places := uint64(v.room[v.e.m.comps[c].class])
		if s, ok := v.e.exchanged(c); ok {
			places = v.rankAll(s, places, total)
			c = s.first
		}
		high, low := bits.Mul64(total, places)
		if total = low; high != 0 || total>>6 >= uint64(most) {
			return false
		}
	}
	v.bits, v.table = make([]uint64, total>>6+1), nil
	return true
}

func (v *visited) bytes() int { return 8 * (cap(v.table) + cap(v.bits)) }

// queue is an append-only list of codes in chunks, so that it never moves.
type queue struct {
	chunks [][]uint64
	n      int
}

const chunkBits = 15

func (q *queue) push(code uint64) {
	if q.n&(1<<chunkBits-1) == 0 {
		size := 1 << chunkBits
		if q.n == 0 {
			size = 1 << 8
		}
		q.chunks = append(q.chunks, make([]uint64, 0, size))
	}
	last := &q.chunks[len(q.chunks)-1]
	if len(*last) == cap(*last) { // the first one
		*last = append(make([]uint64, 0, 2*len(*last)), *last...)
	}
	*last = append(*last, code)
	q.n++
}

func (q *queue) at(i int) uint64 { return q.chunks[i>>chunkBits][i&(1<<chunkBits-1)] }

func (q *queue) bytes() int {
	n := 0
	for _, c := range q.chunks {
		n += 8 * cap(c)
	}
	return n
}

// recode rewrites every code for another layout.
func (q *queue) recode(from, to *layoutOf) {
	for _, c := range q.chunks {
		for i := range c {
			c[i] = from.move(c[i], to)
		}
	}
}

// collect puts every code of the queue into a new set.
func (v *visited) collect(q *queue) *visited {
	fresh := newVisited(v.e)
	defer func() { fresh.moved = v.moved }()
	bits := uint(12)
	for 1<<bits < 2*q.n {
		bits++
	}
	if !fresh.bitmap(1 << bits) {
		fresh.grow(bits)
	}
	for _, c := range q.chunks {
		for _, code := range c {
			fresh.add(code)
		}
	}
	return fresh
}
