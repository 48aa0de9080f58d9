// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// touches is what one action or reaction has to do with the parts of a system.
type touches struct {
	asks    map[*expr.Var]bool // it happens, or is refused, depending on these
	changes map[*expr.Var]bool
	emits   map[string]bool
	known   map[any]bool // definitions and procedures that were followed
}

func newTouches() *touches {
	return &touches{map[*expr.Var]bool{}, map[*expr.Var]bool{}, map[string]bool{}, map[any]bool{}}
}

func touchesOfAction(a *load.Action) *touches {
	t := newTouches()
	t.condition(a.Assume)
	t.condition(a.When)
	for _, r := range a.Refuse {
		t.condition(r.When)
		t.statements(r.Do)
	}
	t.statements(a.Do)
	t.statements(a.World)
	return t
}

func touchesOfReaction(r *load.Reaction) *touches {
	t := newTouches()
	t.condition(r.When)
	t.statements(r.Do)
	return t
}

// condition notes the variables that a condition looks at, through definitions too.
func (t *touches) condition(n *expr.Node) {
	expr.Walk(n, func(n *expr.Node) {
		switch {
		case n.Op == expr.ReadVar:
			t.asks[n.Var] = true
		case n.Op == expr.Call && !t.known[n.Def]:
			t.known[n.Def] = true
			t.condition(n.Def.Body)
		}
	})
}

// statements notes what is changed and emitted, through procedures too.
func (t *touches) statements(list []*expr.Stmt) {
	for _, s := range list {
		switch {
		case s.Op == expr.Assign || s.Op == expr.Offer:
			t.changes[s.Target.Var] = true
		case s.Op == expr.Emit:
			t.emits[s.Name] = true
		case s.Op == expr.CallProc && !t.known[s.Proc]:
			t.known[s.Proc] = true
			t.statements(s.Proc.Body)
		}
		t.statements(s.Body)
		t.statements(s.Else)
	}
}
