// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// read is one variable that a program looked at, with what it saw.
type read struct {
	comp  uint8 // with the state after the step, counted from maxComps
	shift uint8
	mask  uint32
	value uint32
}

// Marks of a slot while a program runs.
const (
	seenOld = 1 << iota // the value before the step is known
	seenNew             // pairs: the value after it is known
	written
)

// runner interprets programs on the words of a state, and notes what they read.
type runner struct {
	m       *model
	words   *[2 * maxComps]uint32 // state before; for pairs, the state after from maxComps on
	pair    bool
	marks   []uint8
	value   []int // of written slots
	before  []int // of slots whose value before the step is known
	touched []int
	log     []read
	locals  []int
	bad     bool // an assignment left its range
	limit   int  // the only component that may be read, or -1
	foreign bool // another one was read
}

func newRunner(m *model) *runner {
	return &runner{m: m, marks: make([]uint8, len(m.slots)), value: make([]int, len(m.slots)),
		before: make([]int, len(m.slots)), limit: -1, locals: make([]int, m.locals+1)}
}

// start begins a program.
func (r *runner) start(words *[2 * maxComps]uint32, pair bool) {
	for _, s := range r.touched {
		r.marks[s] = 0
	}
	r.touched, r.log = r.touched[:0], r.log[:0]
	r.words, r.pair, r.bad, r.foreign = words, pair, false, false
}

// assume tells a program what its guard has made certain, so that it need not look.
func (r *runner) assume(facts []fact) {
	for _, f := range facts {
		r.mark(f.slot, seenOld)
		r.before[f.slot] = f.value
	}
}

// read returns a slot and notes it, once.
func (r *runner) read(i int, old bool) int {
	s := &r.m.slots[i]
	switch {
	case !old && r.marks[i]&written != 0:
		return r.value[i]
	case r.pair && !old:
		raw := r.words[s.comp+maxComps] >> s.shift & s.mask
		if r.marks[i]&seenNew == 0 {
			r.mark(i, seenNew)
			r.note(s.comp+maxComps, s.shift, s.mask, raw)
		}
		return int(raw) + s.lo
	case r.marks[i]&seenOld != 0:
		return r.before[i]
	}
	if r.limit >= 0 && int(s.comp) != r.limit {
		r.foreign = true
		return s.lo
	}
	raw := r.words[s.comp] >> s.shift & s.mask
	r.mark(i, seenOld)
	r.before[i] = int(raw) + s.lo
	r.note(s.comp, s.shift, s.mask, raw)
	return r.before[i]
}

// noteBits is how much of a value one read tells: a node of the decision tree has a
// child for each value, and few of a wide variable's are ever seen.
const noteBits = 8

// note logs a read.
func (r *runner) note(comp, shift uint8, mask, raw uint32) {
	for mask >= 1<<noteBits {
		const low = 1<<noteBits - 1
		r.log = append(r.log, read{comp, shift, low, raw & low})
		shift, mask, raw = shift+noteBits, mask>>noteBits, raw>>noteBits
	}
	r.log = append(r.log, read{comp, shift, mask, raw})
}

func (r *runner) mark(i int, mark uint8) {
	if r.marks[i] == 0 {
		r.touched = append(r.touched, i)
	}
	r.marks[i] |= mark
}

func (r *runner) write(i, v int) {
	s := &r.m.slots[i]
	if v < s.lo || v >= s.lo+s.size {
		r.bad = true
		return
	}
	r.mark(i, written)
	r.value[i] = v
}

// yes evaluates a condition; nil holds always.
func (r *runner) yes(g *gnode) bool { return g == nil || r.eval(g) != 0 }

func (r *runner) eval(g *gnode) int {
	switch g.op {
	case gConst:
		return g.val
	case gSlot:
		return r.read(g.val, false)
	case gOld:
		return r.read(g.val, true)
	case gLocal:
		return r.locals[g.val]
	case gNot:
		return 1 - r.eval(g.kids[0])
	case gAll, gAny:
		stop := 0
		if g.op == gAny {
			stop = 1
		}
		for _, k := range g.kids {
			if r.eval(k) == stop {
				return stop
			}
		}
		return 1 - stop
	case gCount:
		n := 0
		for _, k := range g.kids {
			n += r.eval(k)
		}
		return n
	case gIn:
		return int(g.mask >> r.eval(g.kids[0]) & 1)
	case gDecide:
		return r.decide(g)
	case gEq, gNe:
		if r.kept(g) {
			return g.apply(0, 0)
		}
	}
	return g.apply(r.eval(g.kids[0]), r.eval(g.kids[1]))
}

// kept reports whether g compares a variable with what it was before the step, and the
// program has left it as it was: then there is no need to look.
func (r *runner) kept(g *gnode) bool {
	now, old := g.kids[0], g.kids[1]
	return now.op == gSlot && old.op == gOld && now.val == old.val && !r.pair && r.marks[now.val]&written == 0
}

// decide asks a table; an answer that is not there is a mistake of the system.
func (r *runner) decide(g *gnode) int {
	at := 0
	for i, k := range g.kids {
		at = at*g.inputs[i] + r.eval(k)
	}
	v := g.output.Answers[at]
	if v < 0 {
		r.bad = true
		return 0
	}
	return v
}

// run executes statements.
func (r *runner) run(list []*gstmt) {
	for _, s := range list {
		switch s.op {
		case sAssign:
			r.write(s.slot, r.eval(s.value))
		case sLocal:
			r.locals[s.local] = r.eval(s.value)
		case sOffer:
			m := r.m.slots[s.slot].v.Machine
			from, event := r.read(s.slot, false), r.eval(s.value)
			if to := m.To[from][event]; to != from {
				r.write(s.slot, to)
			}
			if s.local >= 0 {
				r.locals[s.local] = m.Result[from][event]
			}
		case sIf:
			if r.eval(s.value) != 0 {
				r.run(s.body)
			} else {
				r.run(s.rest)
			}
		}
	}
}

// write is a change of some bits of a word.
type write struct {
	comp       uint8
	clear, set uint32
}

// changed reports whether a slot was written that may get another value.
func (r *runner) changed() bool {
	for _, i := range r.touched {
		if r.marks[i]&written != 0 && (r.marks[i]&seenOld == 0 || r.before[i] != r.value[i]) {
			return true
		}
	}
	return false
}

// writes gathers what the program changed, leaving out what it is known to have
// left as it was; touch gets the slots.
func (r *runner) writes(touch []uint64) []write {
	var out []write
	for _, i := range r.touched {
		s := &r.m.slots[i]
		if r.marks[i]&written == 0 {
			continue
		}
		raw := uint32(r.value[i] - s.lo)
		if r.marks[i]&seenOld != 0 && r.before[i] == r.value[i] {
			continue
		}
		touch[i>>6] |= 1 << (i & 63)
		w := write{s.comp, s.mask << s.shift, raw << s.shift}
		merged := false
		for j := range out {
			if out[j].comp == w.comp {
				out[j].clear, out[j].set, merged = out[j].clear|w.clear, out[j].set|w.set, true
			}
		}
		if !merged {
			out = append(out, w)
		}
	}
	return out
}
