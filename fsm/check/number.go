// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// class is the set of words that the components of one class have been seen with.
type class struct {
	words []uint32          // by number
	rows  []int             // by number: the first of its rows, one a component; see engine
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

// layoutOf is how codes are laid out at one time.
type layoutOf struct {
	shift [maxComps]uint
	mask  [maxComps]uint64
	n     int
}

func (e *engine) layout() {
	at := uint(0)
	for i := len(e.compOf) - 1; i >= 0; i-- {
		e.shift[i], e.maskW[i], e.wide[i] = at, 1<<e.compOf[i].width-1, e.compOf[i].width
		at += e.compOf[i].width
	}
	e.width = at
	e.full = at > 63
}

func (e *engine) current() *layoutOf { return &layoutOf{e.shift, e.maskW, len(e.compOf)} }

// move rewrites a code for another layout.
func (from *layoutOf) move(code uint64, to *layoutOf) uint64 {
	var out uint64
	for i := range from.n {
		out |= code >> from.shift[i] & from.mask[i] << to.shift[i]
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
func (e *engine) number(comp int, word uint32) uint32 {
	c := e.compOf[comp]
	if n := c.lookup(word); n != 0 {
		return n - 1
	}
	n := uint32(len(c.words))
	c.words, c.rows = append(c.words, word), append(c.rows, e.rows)
	if c.dense != nil {
		c.dense[word] = n + 1
	} else {
		c.far[word] = n + 1
	}
	for _, comp := range c.comps {
		e.prepare(comp, word)
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
