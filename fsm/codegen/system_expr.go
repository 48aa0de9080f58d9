// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

var goOps = map[expr.Op]string{
	expr.And: "&&", expr.Or: "||", expr.Eq: "==", expr.Ne: "!=", expr.Lt: "<", expr.Le: "<=", expr.Gt: ">", expr.Ge: ">=",
	expr.Add: "+", expr.Sub: "-",
}

// precedence of Go's binary operators, for as few parentheses as gofmt's readers like.
var precedence = map[expr.Op]int{expr.Or: 1, expr.And: 2, expr.Eq: 3, expr.Ne: 3, expr.Lt: 3, expr.Le: 3, expr.Gt: 3, expr.Ge: 3, expr.Add: 4, expr.Sub: 4}

// expr writes an expression in Go.
func (g *systemGen) expr(n *expr.Node) string {
	text, _ := g.exprPrec(n)
	return text
}

// operand writes n so that it can stand beside an operator of the precedence.
func (g *systemGen) operand(n *expr.Node, prec int) string {
	text, own := g.exprPrec(n)
	if own < prec {
		return "(" + text + ")"
	}
	return text
}

const unary = 6

func (g *systemGen) exprPrec(n *expr.Node) (text string, prec int) {
	switch n.Op {
	case expr.Const:
		return g.value(n.Type, n.Val), unary
	case expr.ReadLocal:
		return g.local(n.Local), unary
	case expr.ReadVar:
		return g.read(n)
	case expr.Not:
		if n.Args[0].Op == expr.Or && n.Args[0].Args[0].Op == expr.Not {
			return "!(" + g.expr(n.Args[0]) + ")", unary
		}
		return "!" + g.operand(n.Args[0], unary), unary
	case expr.In:
		return g.in(n)
	case expr.Has:
		return g.operand(n.Args[0], unary) + ">>" + g.shift(n.Args[1]) + "&1 != 0", 3
	case expr.All:
		return g.domain(n) + "&^" + g.maskTight(n.Args[0], n.Local) + " == 0", 3
	case expr.Any:
		return g.domain(n) + "&" + g.maskOperand(n.Args[0], n.Local) + " != 0", 3
	case expr.Count:
		return g.pkg("math/bits") + ".OnesCount64(" + g.domain(n) + "&" + g.maskOperand(n.Args[0], n.Local) + ")", unary
	case expr.Call:
		return "s." + load.GoName(n.Def.Name) + "(" + g.args(n.Args) + ")", unary
	case expr.Min, expr.Max:
		return map[expr.Op]string{expr.Min: "min", expr.Max: "max"}[n.Op] + "(" + g.args(n.Args) + ")", unary
	case expr.Would:
		call := g.offerCall("would", n.Args[0], n.Args[1])
		if a, known := g.answers[call]; known && !a.ended {
			return a.local, unary
		}
		return call, unary
	case expr.Decide:
		return g.decide(n), unary
	}
	if n.Op == expr.Add && n.Type.Time {
		g.sums = true
		return "later(" + g.args(n.Args) + ")", unary
	}
	p := precedence[n.Op]
	return g.operand(n.Args[0], p) + " " + goOps[n.Op] + " " + g.operand(n.Args[1], p+1), p
}

func (g *systemGen) args(list []*expr.Node) string {
	var out []string
	for _, a := range list {
		out = append(out, g.expr(a))
	}
	return strings.Join(out, ", ")
}

func (g *systemGen) shift(n *expr.Node) string {
	if n.Op == expr.ReadLocal || n.Op == expr.Const {
		return g.expr(n)
	}
	return "(" + g.expr(n) + ")"
}

// read writes the value of a variable.
func (g *systemGen) read(n *expr.Node) (string, int) {
	v := n.Var
	f := "s." + field(v)
	switch {
	case g.packs(v):
		return "s.flags.has(" + flagName(v) + ")", unary
	case v.Over == nil && v.Type.Kind == expr.Int && !v.Type.Time:
		return "int(" + f + ")", unary
	case v.Over == nil:
		return f, unary
	case v.Type.Kind == expr.Bool:
		return f + ">>" + g.shift(n.Args[0]) + "&1 != 0", 3
	case v.Type.Kind == expr.Enum:
		return g.goType(v.Type) + "(" + f + ".get(" + g.expr(n.Args[0]) + "))", unary
	case v.Type.Time:
		return f + "[" + g.expr(n.Args[0]) + "]", unary
	}
	return "int(" + f + "[" + g.expr(n.Args[0]) + "])", unary
}

// in tests a value against some of its enum: by the predicate of a tag, or by bits.
func (g *systemGen) in(n *expr.Node) (string, int) {
	x, t := n.Args[0], n.Args[0].Type
	for _, tag := range sortedTags(t) {
		if t.Tags[tag] == n.Mask {
			return g.operand(x, unary) + "." + load.GoName(tag) + "()", unary
		}
	}
	var names []string
	for v := range t.Values {
		if n.Mask>>v&1 != 0 {
			names = append(names, g.value(t, v))
		}
	}
	if len(names) <= 2 {
		for i := range names {
			names[i] = g.operand(x, 4) + " == " + names[i]
		}
		return strings.Join(names, " || "), map[bool]int{true: 3, false: 1}[len(names) == 1]
	}
	return "1<<" + g.operand(x, unary) + "&uint64(1<<" + strings.Join(names, "|1<<") + ") != 0", 3
}

// decide asks a generated table.
func (g *systemGen) decide(n *expr.Node) string {
	for _, t := range g.sys.Tables {
		if t.Name != n.Output.Table {
			continue
		}
		for _, c := range t.Outputs {
			if c.Name == n.Output.Name {
				return g.spec(t.Name) + ".Decide(" + g.args(n.Args) + ")." + c.Go
			}
		}
	}
	g.fail("table %s has no output %s", n.Output.Table, n.Output.Name)
	return ""
}

// offerCall writes a call of the helper that offers an event to a machine, or asks
// what offering would give.
func (g *systemGen) offerCall(verb string, target, event *expr.Node) string {
	g.helpers[verb+" "+target.Var.Name] = target.Var
	args := g.expr(event)
	if len(target.Args) > 0 {
		args = g.expr(target.Args[0]) + ", " + args
	}
	return fmt.Sprintf("s.%s%s(%s)", verb, load.GoName(target.Var.Name), args)
}

// domain is the mask of what a quantifier ranges over.
func (g *systemGen) domain(n *expr.Node) string {
	if len(n.Args) > 1 {
		return g.maskOperand(n.Args[1], n.Local)
	}
	return "s." + g.all(n.Over)
}

// all is the method that gives the mask of all members of a set.
func (g *systemGen) all(s *expr.IndexSet) string {
	g.sets[s] = true
	return "all" + load.GoName(s.Name) + "()"
}
