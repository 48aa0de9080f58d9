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

// engine runs actions on packed states. A state's code is the numbers of its words,
// side by side.
type engine struct {
	m       *model
	t       *trie
	r       *runner
	roots   []uint32 // of the instances
	settle  uint32   // root of the reactions
	classes []*class
	compOf  []*class // by component
	shift   [maxComps]uint
	maskW   [maxComps]uint64
	wide    [maxComps]uint // bits of each number
	width   uint           // of a code
	// A component with a number has a row. allow holds for each row the instances that
	// the word does not rule out, stride words each; plan what each instance does, if
	// this word decides it, see plan.go.
	rows   int
	allow  []uint64
	stride int
	plan   []uint64
	local  *localMoves // nil: nobody asks
	// react holds the same for reactions, as one word: bit 63 stands for all beyond.
	react [maxComps][]uint64
	part  *partial

	sym       bool
	symmetric []symmetricSet
	symOf     [maxComps]symmetricSet
	twins     []twin

	code  uint64
	w     [2 * maxComps]uint32 // the words of the state, and of the state after the step
	idx   [maxComps]uint32
	mid   [2 * maxComps]uint32
	moved []move
	full  bool              // a code would need more than 63 bits
	home  []uint8           // of each instance: the component whose word decides it, or nowhere
	nth   [maxComps]int     // place of a component among those of its class
	row   [2 * maxComps]int // of the loaded state; that of nowhere is one in which nothing is known

	recode func(from, to *layoutOf) // called when codes change
	grown  func()                   // called when a word was given a number
}

// move is a component that gets the word with another number.
type move struct {
	comp int
	idx  uint32
}

func newEngine(m *model, sym bool) *engine {
	e := &engine{m: m, t: newTrie(), r: newRunner(m), roots: make([]uint32, len(m.instances)), sym: sym,
		stride: (len(m.instances) + 63) / 64, part: newPartial(len(m.slots))}
	for i, c := range m.comps {
		if c.class == len(e.classes) {
			e.classes = append(e.classes, newClass(c.bits, c.set == nil))
			if c.set != nil {
				e.symmetric = append(e.symmetric, symmetricSet{i, m.counts[c.set]})
			}
		}
		if c.set != nil {
			e.symOf[i] = e.symmetric[len(e.symmetric)-1]
		}
		cl := e.classes[c.class]
		e.nth[i] = len(cl.comps)
		cl.comps = append(cl.comps, i)
		e.compOf = append(e.compOf, cl)
	}
	for i := range m.instances {
		e.home = append(e.home, e.homeOf(i))
	}
	e.newRow(make([]uint64, e.stride))
	e.layout()
	e.neighbours()
	return e
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

// prepare finds out what a new word of a component rules out, whatever the others.
func (e *engine) prepare(comp int, word uint32) {
	e.w[maxComps+comp], word = word, e.w[maxComps+comp]
	e.part.know(e.m, comp, e.w[maxComps:], true)
	e.part.same = true
	mask := make([]uint64, e.stride)
	for i, in := range e.m.instances {
		if in.possible(e.part) && !e.idle(in, comp) {
			mask[i>>6] |= 1 << (i & 63)
		}
	}
	e.newRow(mask)
	var react uint64
	for i, r := range e.m.reactions {
		if v, ok := eval3(r.when, e.part); !ok || v != 0 {
			react |= 1 << min(i, 63)
		}
	}
	e.react[comp] = append(e.react[comp], react)
	e.part.know(e.m, comp, e.w[maxComps:], false)
	e.w[maxComps+comp] = word
}

// possible reports whether the instance may be enabled in a state known in part.
func (in *instance) possible(p *partial) bool {
	for _, list := range [][]*gnode{in.single, in.rest} {
		for _, g := range list {
			if v, ok := eval3(g, p); ok && v == 0 {
				return false
			}
		}
	}
	return true
}

// idle reports whether the word of one component tells that the instance, if it is
// enabled, changes nothing and breaks nothing: then it need not run.
func (e *engine) idle(in *instance, comp int) bool {
	if len(in.rest) > 0 {
		return false
	}
	word := e.w[comp]
	e.w[comp] = e.w[maxComps+comp]
	e.r.limit = comp
	e.r.start(&e.w, false)
	idle := e.changesNothing(in)
	e.r.limit = -1
	e.w[comp] = word
	return idle && !e.r.foreign
}

// changesNothing runs an instance, and reports whether it writes nothing new and
// breaks nothing.
func (e *engine) changesNothing(in *instance) bool {
	r := e.r
	do, kind := e.decide(in)
	if kind != enabled {
		return true
	}
	r.run(do)
	if r.foreign || r.bad || r.changed() {
		return false
	}
	for _, p := range in.after {
		if r.yes(p.from) && r.eval(p.then) == 0 {
			return false
		}
	}
	return true
}

// load unpacks a code into words.
func (e *engine) load(code uint64) {
	e.code = code
	for i, c := range e.compOf {
		n := uint32(code >> (e.shift[i] & 63) & e.maskW[i])
		e.idx[i], e.w[i], e.row[i] = n, c.words[n], c.rows[n]+e.nth[i]
	}
}

// encode gives the code of the words, numbering new ones.
func (e *engine) encode(words []uint32) uint64 {
	nums := make([]uint32, len(e.compOf))
	for i := range e.compOf {
		nums[i] = e.number(i, words[i])
	}
	var code uint64
	for i, n := range nums {
		code |= uint64(n) << e.shift[i]
	}
	return e.canonical(code)
}
