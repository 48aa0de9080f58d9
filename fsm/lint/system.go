// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// systemLint finds what a system says without effect. Whether an action can ever
// happen is for fsmgen check to say, which visits the states.
type systemLint struct {
	s       *load.System
	found   *load.Errors
	called  map[*expr.Proc]bool
	emitted map[string]bool
}

func (l *systemLint) add(pos load.Pos, format string, args ...any) {
	l.found.Add(l.s.Source.File, pos, format, args...)
}

func (l *systemLint) check() {
	l.called, l.emitted = map[*expr.Proc]bool{}, map[string]bool{}
	for _, a := range l.s.Actions {
		l.condition(a.Pos, "action "+a.Name+": when", a.When)
		l.condition(a.Pos, "action "+a.Name+": assume", a.Assume)
		for i, r := range a.Refuse {
			what := "action " + a.Name + ": refusal " + r.Kind
			if i < len(a.Refuse)-1 || constant(r.When) != alwaysTrue { // the last may say: otherwise
				l.condition(r.Pos, what, r.When)
			}
			l.statements(r.Pos, what, r.Do)
		}
		l.statements(a.Pos, "action "+a.Name, a.Do)
		l.statements(a.Pos, "action "+a.Name, a.World)
	}
	for _, r := range l.s.Reactions {
		l.condition(r.Pos, "reaction "+r.Name, r.When)
		l.statements(r.Pos, "reaction "+r.Name, r.Do)
	}
	for _, p := range l.s.Procs {
		l.statements(l.s.ProcPos[p], "procedure "+p.Name, p.Body)
	}
	for _, p := range l.s.Properties {
		l.condition(p.Pos, "property "+p.Name, p.Then)
	}
	l.unused()
}

func (l *systemLint) unused() {
	for _, d := range l.s.Defs {
		if !d.Used {
			l.add(l.s.Pos, "definition %s is never used", d.Name)
		}
	}
	for _, p := range l.s.Procs {
		if !l.called[p] {
			l.add(l.s.ProcPos[p], "procedure %s is never called", p.Name)
		}
	}
	for _, e := range l.s.Effects {
		if !l.emitted[e.Name] {
			l.add(l.s.Pos, "effect %s is never emitted", e.Name)
		}
	}
}

func (l *systemLint) statements(pos load.Pos, what string, list []*expr.Stmt) {
	for _, s := range list {
		switch s.Op {
		case expr.If:
			l.condition(pos, what+": if", s.Value)
		case expr.CallProc:
			l.called[s.Proc] = true
		case expr.Emit:
			l.emitted[s.Name] = true
		}
		l.statements(pos, what, s.Body)
		l.statements(pos, what, s.Else)
	}
}

// condition notes a condition that no value of its variables can change.
func (l *systemLint) condition(pos load.Pos, what string, n *expr.Node) {
	if n == nil {
		return
	}
	for _, part := range conjuncts(n) {
		switch constant(part) {
		case alwaysTrue:
			l.add(pos, "%s: %s is always true", what, part)
		case alwaysFalse:
			l.add(pos, "%s: %s is always false", what, part)
		}
	}
}

func conjuncts(n *expr.Node) []*expr.Node {
	if n.Op == expr.And {
		return append(conjuncts(n.Args[0]), conjuncts(n.Args[1])...)
	}
	return []*expr.Node{n}
}

// What all values of a condition's variables give.
const (
	depends = iota
	alwaysTrue
	alwaysFalse
)

// trial gives variables the values of one combination.
type trial map[*expr.Var]int

func (t trial) Read(v *expr.Var, _ int, _ bool) int { return t[v] }
func (t trial) Members(*expr.IndexSet) int          { return 0 }

// constant tries every combination of values of a condition over few single
// variables; any other condition depends.
func constant(n *expr.Node) int {
	var vars []*expr.Var
	seen, ok, size := map[*expr.Var]bool{}, true, 1
	var look func(n *expr.Node)
	look = func(n *expr.Node) {
		expr.Walk(n, func(n *expr.Node) {
			switch {
			case n.Op == expr.Call:
				ok = ok && len(n.Args) == 0
				look(n.Def.Body)
			case n.Op == expr.ReadLocal || n.Old || n.Over != nil || n.Op == expr.Decide:
				ok = false
			case n.Op == expr.ReadVar && (n.Var.Over != nil || n.Var.Name == "environment"):
				ok = false
			case n.Op == expr.ReadVar && !seen[n.Var]:
				seen[n.Var], size = true, size*n.Var.Type.Size(0)
				vars = append(vars, n.Var)
			}
			ok = ok && size <= 1<<12
		})
	}
	if look(n); !ok {
		return depends
	}
	yes := 0
	for i := range size {
		t, rest := trial{}, i
		for _, v := range vars {
			t[v], rest = v.Type.Low()+rest%v.Type.Size(0), rest/v.Type.Size(0)
		}
		yes += expr.Eval(n, t)
	}
	switch yes {
	case size:
		return alwaysTrue
	case 0:
		return alwaysFalse
	}
	return depends
}
