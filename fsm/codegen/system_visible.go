// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"slices"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// What the outside world knows and does is no part of the Go code, and what only it
// needs is left out as well: procedures, parameters and whole sets of members.

// procs lists the procedures that the system itself may run.
func (g *systemGen) procs() []*expr.Proc {
	return slices.DeleteFunc(slices.Clone(g.sys.Procs), func(p *expr.Proc) bool { return p.Hidden })
}

// kept lists the parameters of an action that its Go method has: a member or a set
// that only the outside world's part mentions means nothing to the caller.
func (g *systemGen) kept(a *load.Action) []*expr.Local {
	return slices.DeleteFunc(slices.Clone(a.Params), func(l *expr.Local) bool {
		if l.Type.Kind != expr.Index && l.Type.Kind != expr.Set {
			return false
		}
		found := false
		eachNode(a.When, a.Do, func(n *expr.Node) { found = found || isLocal(n, l) })
		for _, r := range a.Refuse {
			eachNode(r.When, r.Do, func(n *expr.Node) { found = found || isLocal(n, l) })
		}
		return !found
	})
}

// memberSets lists the sets that the code knows.
func (g *systemGen) memberSets() []*expr.IndexSet {
	used := map[*expr.IndexSet]bool{}
	look := func(n *expr.Node) {
		if n.Over != nil {
			used[n.Over] = true
		}
	}
	for _, v := range g.visible() {
		used[v.Over] = true
	}
	for _, a := range g.sys.Actions {
		if a.Environment {
			continue
		}
		for _, l := range g.kept(a) {
			used[l.Type.Over] = true
		}
		eachNode(a.When, a.Do, look)
		for _, r := range a.Refuse {
			eachNode(r.When, r.Do, look)
		}
	}
	for _, d := range g.published() {
		eachNode(d.Body, nil, look)
		for _, l := range d.Params {
			used[l.Type.Over] = true
		}
	}
	for _, p := range g.procs() {
		eachNode(nil, p.Body, look)
	}
	for _, r := range g.sys.Reactions {
		eachNode(r.When, r.Do, look)
	}
	return slices.DeleteFunc(slices.Clone(g.sys.Sets), func(s *expr.IndexSet) bool { return !used[s] })
}

// eachNode calls f for every expression of a condition and of statements; a loop
// counts as an expression over its set.
func eachNode(when *expr.Node, list []*expr.Stmt, f func(*expr.Node)) {
	expr.Walk(when, f)
	for _, s := range list {
		expr.Walk(s.Target, f)
		expr.Walk(s.Value, f)
		for _, a := range s.Args {
			expr.Walk(a, f)
		}
		if s.Op == expr.For {
			f(&expr.Node{Op: expr.All, Over: s.Over})
		}
		eachNode(nil, s.Body, f)
		eachNode(nil, s.Else, f)
	}
}
