// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package lint finds what a spec may say but hardly means: states that cannot be
// reached, events that move nothing, states without a way out.
//
// What a spec must not say at all is a mistake of package load.
package lint

import (
	"fmt"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Check returns the findings of every spec of the set, each at its place in the
// file. They print like the loader's mistakes; see [load.Errors.Err].
func Check(set *load.Set) load.Errors {
	var found load.Errors
	used := valuesInSystems(set)
	for _, sp := range set.Specs {
		switch sp := sp.(type) {
		case *load.Machine:
			l := &machineLint{m: sp, found: &found}
			l.unreachable()
			l.exits()
			l.deadEvents()
		case *load.Table:
			l := &tableLint{t: sp, used: used, found: &found}
			l.unusedAnswers()
			l.idleInputs()
		case *load.System:
			l := &systemLint{s: sp, found: &found}
			l.check()
		}
	}
	return found
}

type machineLint struct {
	m     *load.Machine
	found *load.Errors
}

func (l *machineLint) add(pos load.Pos, format string, args ...any) {
	l.found.Add(l.m.Source.File, pos, "%s", fmt.Sprintf(format, args...))
}

// reach marks what can be reached from the marked states, over moves (or against
// their direction).
func (l *machineLint) reach(marked []bool, backward bool) {
	for changed := true; changed; {
		changed = false
		for from, row := range l.m.Cells {
			for _, c := range row {
				a, b := from, c.To
				if backward {
					a, b = b, a
				}
				if c.Result == fsm.Moved && marked[a] && !marked[b] {
					marked[b], changed = true, true
				}
			}
		}
	}
}

func (l *machineLint) unreachable() {
	marked := make([]bool, len(l.m.States))
	marked[l.m.Initial()] = true
	l.reach(marked, false)
	for i, s := range l.m.States {
		if !marked[i] {
			l.add(s.Pos, "state %s cannot be reached from %s", s.Name, l.m.States[l.m.Initial()].Name)
		}
	}
}

// exits: a state without a way out says final, a final state has none, and from
// every other state some final state can be reached, if the machine has one.
func (l *machineLint) exits() {
	ends := make([]bool, len(l.m.States))
	anyEnd := false
	for i, s := range l.m.States {
		ends[i] = s.Final
		anyEnd = anyEnd || s.Final
	}
	l.reach(ends, true)
	for i, s := range l.m.States {
		leaves := -1
		for ev, c := range l.m.Cells[i] {
			if c.Result == fsm.Moved {
				leaves = ev
			}
		}
		switch {
		case leaves < 0 && !s.Final:
			l.add(s.Pos, "state %s has no exit; say final: true if that is meant", s.Name)
		case leaves >= 0 && s.Final:
			l.add(s.Pos, "state %s is final, but event %s moves it", s.Name, l.m.Events[leaves].Name)
		case anyEnd && !ends[i]:
			l.add(s.Pos, "no final state can be reached from state %s", s.Name)
		}
	}
}

func (l *machineLint) deadEvents() {
	for j, e := range l.m.Events {
		moves := false
		for i := range l.m.States {
			moves = moves || l.m.Cells[i][j].Result == fsm.Moved
		}
		if !moves {
			l.add(e.Pos, "event %s moves no state", e.Name)
		}
	}
}

type tableLint struct {
	t     *load.Table
	used  usedValues
	found *load.Errors
}

// unusedAnswers finds values of the table's own enums that no rule gives and no
// system names.
func (l *tableLint) unusedAnswers() {
	for k, out := range l.t.Outputs {
		if out.Enum == nil || out.Enum.Spec != l.t.Name || out.Keep != nil {
			continue
		}
		given := make([]bool, out.Size())
		for _, r := range l.t.Rules {
			if !r.Then[k].None {
				given[r.Then[k].Index] = true
			}
		}
		for i, ok := range given {
			if !ok && !l.used.has(l.t, out.Enum, i) {
				v := out.Enum.Values[i]
				l.found.Add(l.t.Source.File, v.Pos, "no rule gives %s %s", out.Name, v.Name)
			}
		}
	}
}

// idleInputs finds inputs that no rule looks at.
func (l *tableLint) idleInputs() {
	for i, in := range l.t.Inputs {
		used := false
		for _, r := range l.t.Rules {
			used = used || r.When[i] != nil
		}
		if !used {
			l.found.Add(l.t.Source.File, in.Pos, "no rule looks at input %s", in.Name)
		}
	}
}
