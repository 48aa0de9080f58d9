// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// visited is the set of codes seen: a hash set at first, a bitmap once that is smaller.
type visited struct {
	table []uint64 // code+1; 0 is empty
	bits  []uint64
	n     int
	shift uint
	width uint // of codes
}

func newVisited(width uint) *visited {
	v := &visited{width: width}
	if width <= 20 {
		v.bits = make([]uint64, 1<<max(int(width)-6, 0))
		return v
	}
	v.grow(12)
	return v
}

func (v *visited) grow(bits uint) {
	v.table, v.shift = make([]uint64, 1<<bits), 64-bits
}

const golden = 0x9e3779b97f4a7c15

// add puts a code into the set and reports whether it is new.
func (v *visited) add(code uint64) bool {
	if v.bits != nil {
		w, b := &v.bits[code>>6], uint64(1)<<(code&63)
		if *w&b != 0 {
			return false
		}
		*w |= b
		v.n++
		return true
	}
	mask := uint64(len(v.table) - 1)
	for i := code * golden >> v.shift; ; i++ {
		switch v.table[i&mask] {
		case 0:
			v.table[i&mask] = code + 1
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

// enlarge doubles the hash set, or turns it into a bitmap that is no larger.
func (v *visited) enlarge() {
	old, size := v.table, 2*len(v.table)
	if v.width < 40 && 1<<v.width/64 <= size {
		v.bits, v.table = make([]uint64, max(1<<v.width/64, 1)), nil
		for _, c := range old {
			if c != 0 {
				v.bits[(c-1)>>6] |= 1 << ((c - 1) & 63)
			}
		}
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
	last := len(q.chunks) - 1
	q.chunks[last] = append(q.chunks[last], code)
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

// recode rewrites every code for another layout, and gives the set of them.
func (q *queue) recode(from, to *layoutOf, width uint) *visited {
	v := newVisited(width)
	for _, c := range q.chunks {
		for i := range c {
			c[i] = from.move(c[i], to)
			v.add(c[i])
		}
	}
	return v
}
