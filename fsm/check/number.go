// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// word is one that was seen.
type word struct {
	bits uint32
	row  int // the first of its rows, one a component; see engine
}

// class is the set of words that the components of one class have been seen with.
type class struct {
	words []word            // by number
	dense []uint32          // number+1 by word, for small words
	far   map[uint32]uint32 // the same for large ones
	width uint              // bits of a number in a state's code
	comps []int
}

const (
	denseBits   = 22 // up to here a word's number is found in a table
	startWidth  = 4  // bits of a number at first
	singleWidth = 7  // the same for words of single variables
)

func newClass(bits int, single bool) *class {
	c := &class{width: uint(min(bits, startWidth))}
	if single {
		c.width = uint(min(bits, singleWidth))
	}
	if bits <= denseBits {
		c.dense = make([]uint32, 1<<bits)
	} else {
		c.far = map[uint32]uint32{}
	}
	return c
}

// lookup returns the number of a word plus one, or 0 if it is new.
func (c *class) lookup(word uint32) uint32 {
	if c.dense != nil {
		return c.dense[word]
	}
	return c.far[word]
}

// place is where the number of a component stands in a code.
type place struct {
	shift, wide uint
	mask        uint64
	// Replicas of one set stand side by side, the first one highest: these are the
	// shifts of the first and the last.
	high, low uint
}

// layoutOf is how codes are laid out at one time.
type layoutOf struct {
	place [maxComps]place
	n     int
}

func (e *engine) layout() {
	at := uint(0)
	for i := len(e.compOf) - 1; i >= 0; i-- {
		wide := e.compOf[i].width
		e.place[i] = place{shift: at, wide: wide, mask: 1<<wide - 1, high: at, low: at}
		at += wide
	}
	for _, s := range e.symmetric {
		for c := s.first; c < s.first+s.n; c++ {
			e.place[c].high, e.place[c].low = e.place[s.first].shift, e.place[s.first+s.n-1].shift
		}
	}
	e.width = at
	e.full = at > 63
}

func (e *engine) current() *layoutOf { return &layoutOf{e.place, len(e.compOf)} }

// move rewrites a code for another layout.
func (from *layoutOf) move(code uint64, to *layoutOf) uint64 {
	var out uint64
	for i := range from.n {
		out |= code >> from.place[i].shift & from.place[i].mask << to.place[i].shift
	}
	return out
}

// newRow adds a row, whose word does not rule out these instances.
func (e *engine) newRow(allow []uint64) {
	e.allow = append(e.allow, allow...)
	e.plan = append(e.plan, make([]uint64, len(e.m.instances))...)
	e.rows++
}

// number returns the number of a word, giving it one if it is new.
func (e *engine) number(comp int, bits uint32) uint32 {
	c := e.compOf[comp]
	if n := c.lookup(bits); n != 0 {
		return n - 1
	}
	n := uint32(len(c.words))
	c.words = append(c.words, word{bits, e.rows})
	if c.dense != nil {
		c.dense[bits] = n + 1
	} else {
		c.far[bits] = n + 1
	}
	for _, comp := range c.comps {
		e.prepare(comp, bits)
	}
	if n>>c.width != 0 && !e.full {
		e.widen(c)
	}
	e.grown()
	return n
}

// widen gives the numbers of a class one more bit, or notes that a code has none left:
// then there is no code with the new number.
func (e *engine) widen(c *class) {
	from := e.current()
	c.width++
	if e.layout(); e.full {
		c.width--
		e.layout()
		e.full = true
		return
	}
	to := e.current()
	e.code = from.move(e.code, to)
	e.unplan()
	e.recode(from, to)
}
