// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math/bits"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// hit is the first time that a property was seen broken.
type hit struct {
	state  int // number of the state in the queue
	inst   int // the action that breaks it, or -1 if the state is a first state that does
	length int
}

// broken notes that a property is broken by an action in a state.
func (x *explorer) broken(p *load.Property, state, inst int) {
	if x.hits[p] == nil {
		x.hits[p] = x.hitAt(state, inst)
	}
}

func (x *explorer) hitAt(state, inst int) *hit {
	length := len(x.levels)
	if inst < 0 {
		length = max(length-1, 0)
	}
	return &hit{state, inst, length}
}

// judge evaluates the properties of a step that reactions followed.
func (x *explorer) judge(head, i int, l, settled *leaf) {
	for _, p := range l.props {
		if x.breaks(p) {
			x.broken(p.prop, head, i)
		}
	}
	for _, p := range settled.props {
		if x.breaks(p) {
			x.broken(p.prop, head, i)
		}
	}
	if settled.bad && x.badHit == nil {
		x.badHit = x.hitAt(head, i)
	}
	for _, p := range x.m.instances[i].after {
		if x.breaks(p) {
			x.broken(p.prop, head, i)
		}
	}
}

// serves reports whether one of these instances, which are enabled, serves an
// assumption of fairness. The set is word k of one of all instances.
func (x *explorer) serves(k int, set uint64) bool {
	for ; set != 0; set &= set - 1 {
		for _, g := range x.m.instances[k<<6|bits.TrailingZeros64(set)].groups {
			if x.holds(&g.root, g.while) {
				return true
			}
		}
	}
	return false
}

// unfair notes a state where a run may rest for ever, if it is before a goal.
func (x *explorer) unfair(head int) {
	for k, g := range x.m.goals {
		if x.stuck[k] == nil && !x.holds(&g.thenRoot, g.then) {
			x.stuck[k] = &hit{head, -1, max(len(x.levels)-1, 0)}
		}
	}
}

// reached reports whether the state with this code is at the goal.
func (x *explorer) reached(g *goal, code uint64) bool {
	saved := x.w
	for c, cl := range x.compOf {
		x.w[c] = cl.words[x.field(code, c)].bits
	}
	yes := x.holds(&g.thenRoot, g.then)
	x.w = saved
	return yes
}
