// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// engine runs actions on packed states. A state's code is the numbers of its words,
// side by side.
type engine struct {
	m       *model
	t       *trie
	r       *runner
	roots   []uint32 // of the instances
	settle  uint32   // root of the reactions
	classes []*class
	compOf  []*class        // by component
	place   [maxComps]place // of each component's number in a code
	width   uint            // of a code
	// A component with a number has a row. allow holds for each row the instances that
	// the word does not rule out, stride words each; plan what each instance does, if
	// this word decides it, see plan.go.
	rows   int
	allow  []uint64
	stride int
	plan   []uint64
	// react holds, by component and number, the reactions that the word does not rule
	// out, as one word: bit 63 stands for all beyond.
	react [maxComps][]uint64
	local *localMoves // nil: nobody asks
	part  *partial

	sym       bool
	symmetric []symmetricSet
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

// load unpacks a code into words.
func (e *engine) load(code uint64) {
	e.code = code
	for i, c := range e.compOf {
		n := e.field(code, i)
		word := &c.words[n]
		e.idx[i&(maxComps-1)], e.w[i&(maxComps-1)], e.row[i&(maxComps-1)] = uint32(n), word.bits, word.row+e.nth[i&(maxComps-1)]
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
		code |= uint64(n) << e.place[i].shift
	}
	return e.canonical(code)
}
