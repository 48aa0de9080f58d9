// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// slot is one variable of one replica, as bits of a word.
type slot struct {
	v     *expr.Var
	rep   int // replica, or -1
	comp  uint8
	shift uint8
	mask  uint32
	lo    int // the smallest value; what is stored is the value less lo
	size  int
}

// component is one word of the state. The words of the replicas of one set have the
// same layout and belong to one class.
type component struct {
	class int
	bits  int
	set   *expr.IndexSet // nil for words of single variables
	rep   int
}

// instance is an action with values for its parameters.
type instance struct {
	action  *load.Action
	args    []int
	single  []*gnode // conditions that look at one component each
	facts   []fact   // what they make certain
	rest    []*gnode // the other conditions
	refuse  []gRefusal
	do      []*gstmt
	after   []*gprop // postconditions of this instance
	skipSet int      // class of its only replica parameter, or -1
	skipRep int
	groups  []*group // fairness that it serves
}

// fact is a slot whose value is certain.
type fact struct{ slot, value int }

type gRefusal struct {
	kind string
	when *gnode
	do   []*gstmt // nil: nothing is changed
}

// reaction is a rule for one replica.
type reaction struct {
	name string
	when *gnode
	do   []*gstmt
}

// gprop is one ground part of a property: an "all" is taken apart.
type gprop struct {
	id      int
	prop    *load.Property
	from    *gnode // nil: always
	then    *gnode
	support []uint64 // slots, as a bit set
	old     []int    // slots that it reads in the state before
	always  bool     // a step property that holds whenever nothing in its support changes
	cond    *gnode   // from implies then
	root    uint32
}

// group is one fairness assumption for one replica.
type group struct {
	id      int
	name    string
	while   *gnode
	root    uint32
	members []int // instances
}

// goal is a liveness property.
type goal struct {
	prop       *load.Property
	from, then *gnode
	fromRoot   uint32
	thenRoot   uint32
}

// model is a system with a number of replicas, ground.
type model struct {
	sys       *load.System
	counts    map[*expr.IndexSet]int
	slots     []slot
	slotOf    map[*expr.Var][]int // by replica; one entry for single variables
	comps     []component
	classes   int
	instances []*instance
	reactions []*reaction
	props     []*gprop // of states and steps
	groups    []*group
	goals     []*goal
	initially *gnode
	locals    int // most locals of one program
	env       int
	whole     bool // every variable is part of the state
}

// singleBits bounds the word of single variables: one word, if it can be, as it tells
// more than two do.
const singleBits = 22

// maxComps bounds the words of a state; two states side by side fit an array.
const maxComps = 32

// layout gives every variable its bits.
func (m *model) layout() error {
	m.slotOf = map[*expr.Var][]int{}
	cur := -1
	for _, v := range m.sys.Vars {
		if v.Over != nil || !m.tracks(v) {
			continue
		}
		bits := bitsFor(v.Type.Size(0))
		if cur < 0 || m.comps[cur].bits+bits > singleBits {
			cur = m.newComp(m.classes, nil, -1)
			m.classes++
		}
		m.slotOf[v] = []int{m.newSlot(v, -1, cur, bits)}
	}
	for _, set := range m.sys.Sets {
		m.layoutSet(set)
	}
	if len(m.comps) > maxComps {
		return &LimitError{System: m.sys.Name, What: "words of state", Have: len(m.comps), Most: maxComps}
	}
	for _, c := range m.comps {
		if c.bits > 31 {
			return &LimitError{System: m.sys.Name, What: "bits of one replica", Have: c.bits, Most: 31}
		}
	}
	return nil
}

// tracks reports whether v is part of the state: what is kept for the caller alone
// makes no difference, and is left out of what is explored.
func (m *model) tracks(v *expr.Var) bool { return m.whole || v.Tracked() }

func (m *model) layoutSet(set *expr.IndexSet) {
	used := false
	for rep := range m.counts[set] {
		comp := -1
		for _, v := range m.sys.Vars {
			if v.Over != set || !m.tracks(v) {
				continue
			}
			if comp < 0 {
				comp, used = m.newComp(m.classes, set, rep), true
			}
			m.slotOf[v] = append(m.slotOf[v], m.newSlot(v, rep, comp, bitsFor(v.Type.Size(0))))
		}
	}
	if used {
		m.classes++
	}
}

func (m *model) newComp(class int, set *expr.IndexSet, rep int) int {
	m.comps = append(m.comps, component{class: class, set: set, rep: rep})
	return len(m.comps) - 1
}

func (m *model) newSlot(v *expr.Var, rep, comp, bits int) int {
	c := &m.comps[comp]
	m.slots = append(m.slots, slot{v: v, rep: rep, comp: uint8(comp), shift: uint8(c.bits), mask: 1<<bits - 1, lo: v.Type.Low(), size: v.Type.Size(0)})
	c.bits += bits
	return len(m.slots) - 1
}

func bitsFor(size int) int {
	b := 0
	for 1<<b < size {
		b++
	}
	return b
}

// get reads the slot from the words of a state.
func (s *slot) get(words []uint32) int {
	return int(words[s.comp]>>s.shift&s.mask) + s.lo
}

func (s *slot) put(words []uint32, v int) {
	words[s.comp] = words[s.comp]&^(s.mask<<s.shift) | uint32(v-s.lo)<<s.shift
}
