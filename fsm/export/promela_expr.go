// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

var promelaOps = map[expr.Op]string{
	expr.And: "&&", expr.Or: "||", expr.Eq: "==", expr.Ne: "!=", expr.Lt: "<", expr.Le: "<=", expr.Gt: ">", expr.Ge: ">=",
	expr.Add: "+", expr.Sub: "-",
}

// expr writes an expression; quantifiers are unrolled and definitions expanded.
func (p *promela) expr(n *expr.Node, b bindings) string {
	switch n.Op {
	case expr.Const:
		return strconv.Itoa(n.Val)
	case expr.ReadLocal:
		return b[n.Local]
	case expr.ReadVar:
		return p.read(n, b)
	case expr.Not:
		return p.not(p.expr(n.Args[0], b))
	case expr.Call:
		inner := bindings{}
		for i, prm := range n.Def.Params {
			inner[prm] = p.expr(n.Args[i], b)
		}
		was := p.inOld
		p.inOld = p.inOld || n.Old
		out := p.expr(n.Def.Body, inner)
		p.inOld = was
		return out
	case expr.In:
		return p.in(n, b)
	case expr.Has:
		set, err1 := strconv.Atoi(p.expr(n.Args[0], b))
		i, err2 := strconv.Atoi(p.expr(n.Args[1], b))
		if err1 != nil || err2 != nil {
			p.fail("a set that is no parameter")
		}
		return strconv.Itoa(set >> i & 1)
	case expr.All, expr.Any, expr.Count:
		return p.quantifier(n, b)
	case expr.Would:
		return p.would(n, b)
	case expr.Decide:
		return p.decide(n, b)
	case expr.Min, expr.Max:
		x, y := p.expr(n.Args[0], b), p.expr(n.Args[1], b)
		if n.Op == expr.Min {
			return fmt.Sprintf("(%s < %s -> %s : %s)", x, y, x, y)
		}
		return fmt.Sprintf("(%s > %s -> %s : %s)", x, y, x, y)
	}
	return "(" + p.expr(n.Args[0], b) + " " + promelaOps[n.Op] + " " + p.expr(n.Args[1], b) + ")"
}

// not negates a condition; two ! side by side would send a message.
func (p *promela) not(text string) string { return "(!" + text + ")" }

func (p *promela) read(n *expr.Node, b bindings) string {
	if n.Var.Name == "environment" && !p.declared(n.Var) {
		return strconv.Itoa(p.env)
	}
	name := ident(n.Var.Name)
	if n.Old || p.inOld {
		name = "old_" + n.Var.Name
		p.old[n.Var.Name] = true
	}
	if len(n.Args) > 0 {
		name += "[" + p.expr(n.Args[0], b) + "]"
	}
	return name
}

func (p *promela) declared(v *expr.Var) bool {
	for _, d := range p.sys.Vars {
		if d == v {
			return true
		}
	}
	return false
}

func (p *promela) in(n *expr.Node, b bindings) string {
	x := p.expr(n.Args[0], b)
	var out []string
	for v := range n.Args[0].Type.Values {
		if n.Mask>>v&1 != 0 {
			out = append(out, fmt.Sprintf("%s == %d", x, v))
		}
	}
	if len(out) == 0 {
		return "0"
	}
	return "(" + strings.Join(out, " || ") + ")"
}

func (p *promela) quantifier(n *expr.Node, b bindings) string {
	var out []string
	for i := range p.counts[n.Over] {
		inner := b.with(n.Local, strconv.Itoa(i))
		body := p.expr(n.Args[0], inner)
		if len(n.Args) > 1 {
			member := p.expr(n.Args[1], inner)
			if n.Op == expr.All {
				body = "(" + p.not(member) + " || " + body + ")"
			} else {
				body = "(" + member + " && " + body + ")"
			}
		}
		if n.Op == expr.Count {
			body = "(" + body + " -> 1 : 0)"
		}
		out = append(out, body)
	}
	sep := map[expr.Op]string{expr.All: " && ", expr.Any: " || ", expr.Count: " + "}[n.Op]
	return "(" + strings.Join(out, sep) + ")"
}

// would is a chain of conditionals over the states of the machine, and over the
// events if the event is not known in advance.
func (p *promela) would(n *expr.Node, b bindings) string {
	m := n.Args[0].Var.Machine
	x, event := p.expr(n.Args[0], b), p.expr(n.Args[1], b)
	if k, err := strconv.Atoi(event); err == nil {
		return column(m, x, k)
	}
	out := column(m, x, len(m.Event.Values)-1)
	for k := len(m.Event.Values) - 2; k >= 0; k-- {
		out = fmt.Sprintf("(%s == %d -> %s : %s)", event, k, column(m, x, k), out)
	}
	return out
}

// column is the result of one event by the state x. A table may give no event at all,
// where a condition beside it keeps it from being offered.
func column(m *expr.Machine, x string, event int) string {
	if event < 0 {
		return "0"
	}
	out := strconv.Itoa(m.Result[len(m.Result)-1][event])
	for s := len(m.Result) - 2; s >= 0; s-- {
		out = fmt.Sprintf("(%s == %d -> %d : %s)", x, s, m.Result[s][event], out)
	}
	return out
}

// decide asks a table: by a chain of conditionals over the inputs that are not known
// in advance.
func (p *promela) decide(n *expr.Node, b bindings) string {
	texts := make([]string, len(n.Args))
	for i, a := range n.Args {
		texts[i] = p.expr(a, b)
	}
	return p.answer(n, texts, 0, 0)
}

// answer is the table's answer when the inputs before i give the place at.
func (p *promela) answer(n *expr.Node, texts []string, i, at int) string {
	if i == len(texts) {
		return strconv.Itoa(n.Output.Answers[at])
	}
	size := n.Args[i].Type.Size(0)
	if v, err := strconv.Atoi(texts[i]); err == nil && v < 0 {
		return "-1" // no answer about what is none
	} else if err == nil {
		return p.answer(n, texts, i+1, at*size+v)
	}
	out := p.answer(n, texts, i+1, at*size+size-1)
	for v := size - 2; v >= 0; v-- {
		if one := p.answer(n, texts, i+1, at*size+v); one != out {
			out = fmt.Sprintf("(%s == %d -> %s : %s)", texts[i], v, one, out)
		}
	}
	return out
}
