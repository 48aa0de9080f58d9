// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Conditions over all members of a set are computed for all at once: one bit each.

// maskOperand writes the mask of the members l for which n holds, to stand beside &.
func (g *systemGen) maskOperand(n *expr.Node, l *expr.Local) string {
	text, prec := g.mask(n, l)
	if prec < 5 {
		return "(" + text + ")"
	}
	return text
}

// maskTight writes it to stand behind &^, which takes only what follows at once.
func (g *systemGen) maskTight(n *expr.Node, l *expr.Local) string {
	text, prec := g.mask(n, l)
	if prec < unary || strings.HasPrefix(text, "^") {
		return "(" + text + ")"
	}
	return text
}

// mask writes the mask of the members l for which n holds. Bits of no member may be
// set in it. Precedences are those of Go: | is 4, & is 5.
func (g *systemGen) mask(n *expr.Node, l *expr.Local) (string, int) {
	if !mentions(n, l) {
		return g.broadcast(n), unary
	}
	switch n.Op {
	case expr.ReadVar:
		if isLocal(n.Args[0], l) && n.Type.Kind == expr.Bool {
			return "s." + field(n.Var), unary
		}
	case expr.Not:
		return "^" + g.maskUnary(n.Args[0], l), unary
	case expr.And:
		return g.maskOperand(n.Args[0], l) + " & " + g.maskAnd(n.Args[1], l), 5
	case expr.Or:
		if n.Args[0].Op == expr.Not { // q || !p reads better as a set without another
			x, _ := g.mask(n.Args[1], l)
			return "^" + g.maskUnary(n.Args[0].Args[0], l) + " | " + x, 4
		}
		x, _ := g.mask(n.Args[0], l)
		y, _ := g.mask(n.Args[1], l)
		return x + " | " + y, 4
	case expr.Eq, expr.Ne:
		if text, ok := g.maskEqual(n, l); ok {
			return text, unary
		}
	case expr.In:
		if x := n.Args[0]; x.Op == expr.ReadVar && isLocal(x.Args[0], l) {
			return g.maskIn(x, n.Mask)
		}
	case expr.Has:
		if isLocal(n.Args[1], l) {
			return g.expr(n.Args[0]), unary
		}
	case expr.Call:
		if len(n.Args) == 1 && isLocal(n.Args[0], l) {
			g.needMask(n.Def)
			return "s." + load.GoParam(n.Def.Name) + "Mask()", unary
		}
	}
	return g.maskLoop(n, l), unary
}

func (g *systemGen) maskUnary(n *expr.Node, l *expr.Local) string {
	text, prec := g.mask(n, l)
	if prec < unary {
		return "(" + text + ")"
	}
	return text
}

func (g *systemGen) maskAnd(n *expr.Node, l *expr.Local) string {
	text, prec := g.mask(n, l)
	if prec < 6 && n.Op != expr.And {
		return "(" + text + ")"
	}
	return text
}

// broadcast makes one condition a mask: all members or none.
func (g *systemGen) broadcast(n *expr.Node) string {
	g.broadcasts = true
	return "everyone(" + g.expr(n) + ")"
}

// maskEqual writes comparisons of a member's enum with a constant, and of indexes.
func (g *systemGen) maskEqual(n *expr.Node, l *expr.Local) (string, bool) {
	not := ""
	if n.Op == expr.Ne {
		not = "^"
	}
	for k := range 2 {
		x, y := n.Args[k], n.Args[1-k]
		switch {
		case x.Op == expr.Would && y.Op == expr.Const && x.Args[1].Op == expr.Const && isMember(x.Args[0], l):
			text, prec := g.maskIn(x.Args[0], answers(x, y.Val))
			if prec < unary || not != "" {
				text = not + "(" + text + ")"
			}
			return text, true
		case x.Op == expr.ReadVar && x.Type.Kind == expr.Enum && isLocal(x.Args[0], l) && y.Op == expr.Const:
			return not + "s." + field(x.Var) + ".is(" + g.code(x.Type, y.Val) + ")", true
		case isLocal(x, l) && !mentions(y, l):
			return not + "(1 << " + g.shift(y) + ")", true
		}
	}
	return "", false
}

func (g *systemGen) maskIn(x *expr.Node, set uint64) (string, int) {
	var in, out []string
	for v := range x.Type.Values {
		text := "s." + field(x.Var) + ".is(" + g.code(x.Type, v) + ")"
		if set>>v&1 != 0 {
			in = append(in, text)
		} else {
			out = append(out, text)
		}
	}
	if len(in) == 0 {
		return "0", unary
	}
	if len(out) < len(in) {
		return "^(" + strings.Join(out, " | ") + ")", unary
	}
	return strings.Join(in, " | "), 4
}

// maskLoop is the way for everything else: member by member.
func (g *systemGen) maskLoop(n *expr.Node, l *expr.Local) string {
	a := g.local(l)
	return "func() (m uint64) {\nfor rest := s." + g.all(l.Type.Over) + "; rest != 0; rest &= rest - 1 {\n" + a + " := " +
		g.pkg("math/bits") + ".TrailingZeros64(rest)\nif " + g.expr(n) + " {\nm |= 1 << " + a + "\n}\n}\nreturn m\n}()"
}

// answers is the set of states in which offering the event of a would gives a result.
func answers(would *expr.Node, result int) uint64 {
	var set uint64
	for state, row := range would.Args[0].Var.Machine.Result {
		if row[would.Args[1].Val] == result {
			set |= 1 << state
		}
	}
	return set
}

func isMember(n *expr.Node, l *expr.Local) bool { return len(n.Args) > 0 && isLocal(n.Args[0], l) }

func isLocal(n *expr.Node, l *expr.Local) bool { return n.Op == expr.ReadLocal && n.Local == l }

// mentions reports whether n depends on l.
func mentions(n *expr.Node, l *expr.Local) bool {
	found := false
	expr.Walk(n, func(n *expr.Node) { found = found || isLocal(n, l) })
	return found
}

// needMask asks for the mask form of a definition with one member as its parameter.
func (g *systemGen) needMask(d *expr.Def) {
	if !g.masks[d] {
		g.masks[d] = true
		g.maskList = append(g.maskList, d)
	}
}
