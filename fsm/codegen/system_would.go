// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"strconv"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// A condition that asks what an event would give is asked once, and its answer kept in
// a local, where several conditions ask the same before anything changes the answer.

// answer is the local of one question.
type answer struct {
	local string
	about *expr.Var // a change of it ends the answer
	ended bool
}

// askOnce writes locals for what the conditions in list ask more than once, up to the
// statement that changes it.
func (g *systemGen) askOnce(list []*expr.Stmt) {
	var conditions []*expr.Node
	changed := map[*expr.Var]bool{}
	for _, s := range list {
		if s.Op == expr.If && len(changed) == 0 {
			conditions = append(conditions, s.Value)
		}
		g.changes(s, changed)
	}
	g.askOnceIn(conditions...)
}

// askOnceIn writes locals for what the expressions ask more than once.
func (g *systemGen) askOnceIn(list ...*expr.Node) {
	times := map[string]int{}
	var order []*expr.Node
	for _, n := range list {
		questions(n, func(q *expr.Node) {
			text := g.offerCall("would", q.Args[0], q.Args[1])
			if times[text]++; times[text] == 2 {
				order = append(order, q)
			}
		})
	}
	for _, q := range order {
		text := g.offerCall("would", q.Args[0], q.Args[1])
		a, known := g.answers[text]
		switch {
		case !known:
			a = answer{local: "would" + load.GoName(q.Args[0].Var.Name), about: q.Args[0].Var}
			if n := len(g.answers); n > 0 {
				a.local += strconv.Itoa(n + 1)
			}
			g.p("%s := %s", a.local, text)
		case a.ended:
			g.p("%s = %s", a.local, text)
		}
		a.ended = false
		g.answers[text] = a
	}
}

// questions visits what n asks with nothing but parameters, outside of quantifiers.
func questions(n *expr.Node, visit func(*expr.Node)) {
	if n.Over != nil {
		return
	}
	if n.Op == expr.Would && constant(n.Args[1]) && (len(n.Args[0].Args) == 0 || constant(n.Args[0].Args[0])) {
		visit(n)
	}
	for _, a := range n.Args {
		questions(a, visit)
	}
}

// constant reports whether no variable is read.
func constant(n *expr.Node) bool {
	is := true
	expr.Walk(n, func(n *expr.Node) { is = is && n.Op != expr.ReadVar && n.Op != expr.Call })
	return is
}

// changes notes which variables a statement may change; nil is any.
func (g *systemGen) changes(s *expr.Stmt, changed map[*expr.Var]bool) {
	switch s.Op {
	case expr.Assign, expr.Offer:
		changed[s.Target.Var] = true
	case expr.CallProc:
		changed[nil] = true
	}
	for _, body := range [][]*expr.Stmt{s.Body, s.Else} {
		for _, inner := range body {
			g.changes(inner, changed)
		}
	}
}

// forget ends the answers that the statement may change. In a loop all end, as its body
// comes again after its end, and its member may have the name of another.
func (g *systemGen) forget(s *expr.Stmt) {
	changed := map[*expr.Var]bool{}
	g.changes(s, changed)
	for text, a := range g.answers {
		a.ended = a.ended || s.Op == expr.For || changed[nil] || changed[a.about]
		g.answers[text] = a
	}
}
