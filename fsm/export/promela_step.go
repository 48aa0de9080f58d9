// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// action writes one action with its arguments: a step that Spin may take if its
// condition holds.
func (p *promela) action(out *bytes.Buffer, a *load.Action, b bindings, label string) {
	guard := "1"
	for _, g := range []*expr.Node{a.Assume, a.When} {
		if g != nil {
			guard += " && " + p.expr(g, b)
		}
	}
	for _, r := range a.Refuse {
		when := p.expr(r.When, b)
		if r.Do != nil {
			p.step(out, a, b, guard+" && "+when, label+", "+r.Kind, append([]*expr.Stmt{}, r.Do...))
		}
		guard += " && " + p.not(when)
	}
	p.step(out, a, b, guard, label, append(append([]*expr.Stmt{}, a.Do...), a.World...))
}

func (p *promela) step(out *bytes.Buffer, a *load.Action, b bindings, guard, label string, do []*expr.Stmt) {
	guard = strings.TrimPrefix(guard, "1 && ")
	body := &bytes.Buffer{}
	p.stmts(body, do, b, 3)
	p.reactions(body)
	asserts := &bytes.Buffer{}
	p.assertions(asserts, a, b)
	fmt.Fprintf(out, "\t:: d_step { /* %s%s */\n\t\t\t%s;\n", a.Name, label, guard)
	for _, v := range p.sys.Vars {
		if !p.needsOld(v) {
			continue
		}
		if v.Over == nil {
			fmt.Fprintf(out, "\t\t\told_%s = %s;\n", v.Name, ident(v.Name))
			continue
		}
		for i := range p.counts[v.Over] {
			fmt.Fprintf(out, "\t\t\told_%s[%d] = %s[%d];\n", v.Name, i, ident(v.Name), i)
		}
	}
	out.Write(body.Bytes())
	out.Write(asserts.Bytes())
	out.WriteString("\t\t\tskip }\n")
}

// needsOld reports whether some asserted property reads v as it was before a step.
func (p *promela) needsOld(v *expr.Var) bool {
	found := false
	var look func(n *expr.Node, old bool)
	look = func(n *expr.Node, old bool) {
		expr.Walk(n, func(n *expr.Node) {
			found = found || n.Op == expr.ReadVar && n.Var == v && (old || n.Old)
			if n.Op == expr.Call {
				look(n.Def.Body, old || n.Old)
			}
		})
	}
	for _, pr := range p.sys.Properties {
		if pr.Kind != load.Eventually && !pr.Refuted {
			look(pr.From, false)
			look(pr.Then, false)
		}
	}
	p.old[v.Name] = p.old[v.Name] || found
	return found
}

func (p *promela) assertions(out *bytes.Buffer, a *load.Action, b bindings) {
	for _, pr := range p.sys.Properties {
		if pr.Refuted || pr.Kind == load.Eventually || pr.Kind == load.AfterEvent && pr.Action != a {
			continue
		}
		p.eachArgs(pr.For, func(fb bindings, _ string) {
			if fb == nil {
				fb = bindings{}
			}
			for i, l := range pr.Args {
				fb = fb.with(l, b[a.Params[i]])
			}
			cond := p.expr(pr.Then, fb)
			if pr.From != nil {
				cond = p.not(p.expr(pr.From, fb)) + " || " + cond
			}
			fmt.Fprintf(out, "\t\t\tassert(%s); /* %s */\n", cond, pr.Name)
		})
	}
}

func (p *promela) stmts(out *bytes.Buffer, list []*expr.Stmt, b bindings, depth int) {
	tab := strings.Repeat("\t", depth)
	local := bindings{}
	for k, v := range b {
		local[k] = v
	}
	for _, s := range list {
		switch s.Op {
		case expr.Assign:
			if !s.Target.Var.Tracked() {
				continue
			}
			fmt.Fprintf(out, "%s%s = %s;\n", tab, p.expr(s.Target, local), p.expr(s.Value, local))
		case expr.Offer:
			result := ""
			if s.Local != nil {
				result = p.temp()
				local[s.Local] = result
			}
			p.offer(out, s, local, result, tab)
		case expr.If:
			fmt.Fprintf(out, "%sif\n%s:: %s ->\n", tab, tab, p.expr(s.Value, local))
			p.stmts(out, s.Body, local, depth+1)
			fmt.Fprintf(out, "%s\tskip\n%s:: else ->\n", tab, tab)
			p.stmts(out, s.Else, local, depth+1)
			fmt.Fprintf(out, "%s\tskip\n%sfi;\n", tab, tab)
		case expr.For:
			p.loop(out, s, local, depth)
		case expr.CallProc:
			p.call(out, s, local, depth)
		}
	}
}

func (p *promela) temp() string {
	p.temps++
	return fmt.Sprintf("t%d", p.temps-1)
}

// offer writes a case for every state, and for every event if it is not known in
// advance.
func (p *promela) offer(out *bytes.Buffer, s *expr.Stmt, b bindings, result, tab string) {
	m := s.Target.Var.Machine
	x, event := p.expr(s.Target, b), p.expr(s.Value, b)
	known, err := strconv.Atoi(event)
	if err != nil {
		t := p.temp()
		fmt.Fprintf(out, "%s%s = %s;\n", tab, t, event)
		event = t
	}
	fmt.Fprintf(out, "%sif\n", tab)
	for k, name := range m.Event.Values {
		if err == nil && k != known {
			continue
		}
		for state := range m.To {
			to, r := m.To[state][k], m.Result[state][k]
			if to == state && result == "" {
				continue
			}
			fmt.Fprintf(out, "%s:: %s == %d && %s == %d -> /* %s */ ", tab, x, state, event, k, name)
			if to != state {
				fmt.Fprintf(out, "%s = %d; ", x, to)
			}
			if result != "" {
				fmt.Fprintf(out, "%s = %d; ", result, r)
			}
			out.WriteString("skip\n")
		}
	}
	fmt.Fprintf(out, "%s:: else -> skip\n%sfi;\n", tab, tab)
}

func (p *promela) loop(out *bytes.Buffer, s *expr.Stmt, b bindings, depth int) {
	tab := strings.Repeat("\t", depth)
	for i := range p.counts[s.Over] {
		inner := b.with(s.Local, strconv.Itoa(i))
		if s.Value == nil {
			p.stmts(out, s.Body, inner, depth)
			continue
		}
		fmt.Fprintf(out, "%sif\n%s:: %s ->\n", tab, tab, p.expr(s.Value, inner))
		p.stmts(out, s.Body, inner, depth+1)
		fmt.Fprintf(out, "%s\tskip\n%s:: else -> skip\n%sfi;\n", tab, tab, tab)
	}
}

func (p *promela) call(out *bytes.Buffer, s *expr.Stmt, b bindings, depth int) {
	inner := bindings{}
	for i, prm := range s.Proc.Params {
		text := p.expr(s.Args[i], b)
		if _, err := strconv.Atoi(text); err != nil {
			t := p.temp()
			fmt.Fprintf(out, "%s%s = %s;\n", strings.Repeat("\t", depth), t, text)
			text = t
		}
		inner[prm] = text
	}
	p.stmts(out, s.Proc.Body, inner, depth)
}

// reactions writes the loop that always fires the first reaction that can.
func (p *promela) reactions(out *bytes.Buffer) {
	if len(p.sys.Reactions) == 0 {
		return
	}
	out.WriteString("\t\t\tdo\n\t\t\t:: ")
	closing := ""
	one := func(r *load.Reaction, b bindings) {
		fmt.Fprintf(out, "if\n\t\t\t\t:: %s ->\n", p.expr(r.When, b))
		p.stmts(out, r.Do, b, 5)
		out.WriteString("\t\t\t\t\tskip\n\t\t\t\t:: else -> ")
		closing += " fi"
	}
	for _, r := range p.sys.Reactions {
		if r.For == nil {
			one(r, nil)
			continue
		}
		for i := range p.counts[r.For.Type.Over] {
			one(r, bindings{r.For: strconv.Itoa(i)})
		}
	}
	out.WriteString("break" + closing + "\n\t\t\tod;\n")
}
