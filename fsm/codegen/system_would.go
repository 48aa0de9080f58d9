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

// asked counts questions by their text.
type asked struct {
	times map[string]int
	twice []*expr.Node // in the order in which they come again
}

func (g *systemGen) count(a *asked, q *expr.Node) {
	text := g.question(q)
	if a.times[text]++; a.times[text] == 2 {
		a.twice = append(a.twice, q)
	}
}

func (g *systemGen) question(q *expr.Node) string { return g.offerCall("would", q.Args[0], q.Args[1]) }

// askOnce writes locals for what the conditions in list ask more than once before the
// answer changes.
func (g *systemGen) askOnce(list []*expr.Stmt) {
	a, changed := asked{times: map[string]int{}}, map[*expr.Var]bool{}
	for _, s := range list {
		if s.Op == expr.If {
			questions(s.Value, func(q *expr.Node) {
				if !changed[nil] && !changed[q.Args[0].Var] {
					g.count(&a, q)
				}
			})
		}
		changes(s, changed)
	}
	g.answer(a.twice)
}

// askOnceIn writes locals for what an expression asks more than once.
func (g *systemGen) askOnceIn(n *expr.Node) {
	a := asked{times: map[string]int{}}
	questions(n, func(q *expr.Node) { g.count(&a, q) })
	g.answer(a.twice)
}

// answer writes a local for each question that has no answer yet.
func (g *systemGen) answer(list []*expr.Node) {
	for _, q := range list {
		text := g.question(q)
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
func changes(s *expr.Stmt, changed map[*expr.Var]bool) {
	switch s.Op {
	case expr.Assign, expr.Offer:
		changed[s.Target.Var] = true
	case expr.CallProc:
		changed[nil] = true
	}
	for _, body := range [][]*expr.Stmt{s.Body, s.Else} {
		for _, inner := range body {
			changes(inner, changed)
		}
	}
}

// forget ends the answers that the statement may change. In a loop all end, as its body
// comes again after its end, and its member may have the name of another.
func (g *systemGen) forget(s *expr.Stmt) {
	changed := map[*expr.Var]bool{}
	changes(s, changed)
	for text, a := range g.answers {
		a.ended = a.ended || s.Op == expr.For || changed[nil] || changed[a.about]
		g.answers[text] = a
	}
}
