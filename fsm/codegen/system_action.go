// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"maps"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// kindGo are the names of the kinds of refusals in package fsm.
var kindGo = map[string]string{"invalid_argument": "InvalidArgument", "stale": "Stale", "fatal": "Fatal", "closed": "Closed",
	"conflict": "Contradiction", "reject": "Misuse", "refused": "Refused", "capacity": "Capacity"}

// staticError declares one error value.
func (g *systemGen) staticError(name, action, kind, why string) {
	g.errors = append(g.errors, fmt.Sprintf("%s = &%s.CallError{System: %q, Action: %q, Kind: %s.%s, Reason: %q}",
		name, g.pkg(g.opt.runtime()), g.sys.Name, action, g.pkg(g.opt.runtime()), kindGo[kind], why))
}

// action writes one method.
func (g *systemGen) action(a *load.Action) {
	name := load.GoName(a.Name)
	doc := fmt.Sprintf("%s is the action %s", name, a.Name)
	if a.Doc != "" {
		doc += ": " + a.Doc
	}
	g.doc("%s.", strings.TrimSuffix(doc, "."))
	g.actionDoc(a)
	params := g.params(g.kept(a))
	if params != "" {
		params += ", "
	}
	g.p("func (s *System) %s(%sout []Effect) ([]Effect, error) {", name, params)
	var invalid []string
	for _, l := range g.kept(a) {
		if c := g.validity(l); c != "" {
			invalid = append(invalid, c)
		}
	}
	if len(invalid) > 0 {
		g.p("if %s {\nreturn out, err%sArgument\n}", strings.Join(invalid, " || "), name)
		g.staticError("err"+name+"Argument", a.Name, "invalid_argument", "an argument is out of range")
	}
	if a.When != nil {
		g.p("if !(%s) {\nreturn out, err%sWhen\n}", g.expr(a.When), name)
		g.staticError("err"+name+"When", a.Name, "reject", "not now")
	}
	for i, r := range a.Refuse {
		always := r.When.Op == expr.Const && r.When.Val != 0
		g.refusal(a, r, fmt.Sprintf("err%s%d", name, i+1), always)
		if always {
			g.p("}\n")
			return
		}
	}
	g.stmts(a.Do)
	g.p("return %s, nil\n}\n", g.settled())
}

// actionDoc lists the refusals in their order.
func (g *systemGen) actionDoc(a *load.Action) {
	if a.When == nil && len(a.Refuse) == 0 {
		return
	}
	g.p("//\n// It is refused, the first that applies:")
	if a.When != nil {
		g.p("//   - reject: not now")
	}
	for _, r := range a.Refuse {
		text := r.Kind + ": " + r.Why
		if r.Do != nil {
			text += " (this one changes the state)"
		}
		for i, line := range wrap(text, 90) {
			lead := "//     "
			if i == 0 {
				lead = "//   - "
			}
			g.p("%s%s", lead, line)
		}
	}
}

// refusal writes what a refusal does; one that always applies needs no condition, and
// nothing comes after it.
func (g *systemGen) refusal(a *load.Action, r *load.Refusal, name string, always bool) {
	if !always {
		g.p("if %s {", g.expr(r.When))
	}
	if r.Do != nil {
		g.stmts(r.Do)
		g.p("return %s, %s", g.settled(), name)
	} else {
		g.p("return out, %s", name)
	}
	if !always {
		g.p("}")
	}
	g.staticError(name, a.Name, r.Kind, r.Why)
}

// settled is the effects after the reactions.
func (g *systemGen) settled() string {
	if len(g.sys.Reactions) == 0 {
		return "out"
	}
	return "s.settle(out)"
}

// validity is the condition under which an argument is out of range; "" for none.
func (g *systemGen) validity(l *expr.Local) string {
	name := g.local(l)
	switch t := l.Type; t.Kind {
	case expr.Int:
		if t.Time {
			return name + " < 0"
		}
		return fmt.Sprintf("%s < %d || %s > %d", name, t.Lo, name, t.Hi)
	case expr.Enum:
		return "!" + name + ".IsValid()"
	case expr.Index:
		return fmt.Sprintf("uint(%s) >= uint(s.n%s)", name, load.GoName(t.Over.Name))
	case expr.Set:
		return fmt.Sprintf("%s&^s.%s != 0", name, g.all(t.Over))
	}
	return ""
}

func (g *systemGen) stmts(list []*expr.Stmt) {
	outer := g.answers
	g.answers = maps.Clone(outer)
	for i, s := range list {
		g.askOnce(list[i:])
		if s.Op == expr.For {
			g.forget(s)
		}
		g.stmt(s, list[i+1:])
		g.forget(s)
	}
	g.answers = outer
}

func (g *systemGen) stmt(s *expr.Stmt, rest []*expr.Stmt) {
	switch s.Op {
	case expr.Assign:
		g.assign(s)
	case expr.Offer:
		call := g.offerCall("offer", s.Target, s.Value)
		if s.Local != nil && uses(rest, s.Local) {
			call = g.local(s.Local) + " := " + call
		}
		g.p("%s", call)
	case expr.If:
		g.p("if %s {", g.expr(s.Value))
		g.stmts(s.Body)
		if len(s.Else) > 0 {
			g.p("} else {")
			g.stmts(s.Else)
		}
		g.p("}")
	case expr.For:
		g.loop(s)
	case expr.CallProc:
		args := g.args(s.Args)
		if args != "" {
			args = ", " + args
		}
		g.p("out = s.%s(out%s)", procName(s.Proc), args)
	case expr.Emit:
		g.emit(s)
	}
}

// procName is the method of a procedure; it never is that of a variable's field.
func procName(p *expr.Proc) string { return "do" + load.GoName(p.Name) }

func (g *systemGen) loop(s *expr.Stmt) {
	mask := "s." + g.all(s.Over)
	if s.Value != nil {
		text, _ := g.mask(s.Value, s.Local)
		mask = text
	}
	a := g.local(s.Local)
	// The members are those of the beginning: the body may change the set.
	g.p("for rest := %s; rest != 0; rest &= rest - 1 {\n%s := %s.TrailingZeros64(rest)", mask, a, g.pkg("math/bits"))
	g.stmts(s.Body)
	g.p("}")
}

func (g *systemGen) assign(s *expr.Stmt) {
	v := s.Target.Var
	f := "s." + field(v)
	switch {
	case g.packs(v):
		g.p("s.flags.set(%s, %s)", flagName(v), g.expr(s.Value))
	case v.Over == nil:
		g.p("%s = %s", f, g.store(v, g.expr(s.Value)))
	case v.Type.Kind == expr.Bool:
		i := g.shift(s.Target.Args[0])
		switch {
		case s.Value.Op == expr.Const && s.Value.Val != 0:
			g.p("%s |= 1 << %s", f, i)
		case s.Value.Op == expr.Const:
			g.p("%s &^= 1 << %s", f, i)
		default:
			g.p("if %s {\n%s |= 1 << %s\n} else {\n%s &^= 1 << %s\n}", g.expr(s.Value), f, i, f, i)
		}
	case v.Type.Kind == expr.Enum:
		g.p("%s.set(%s, uint8(%s))", f, g.expr(s.Target.Args[0]), g.expr(s.Value))
	default:
		g.p("%s[%s] = %s", f, g.expr(s.Target.Args[0]), g.store(v, g.expr(s.Value)))
	}
}

func (g *systemGen) emit(s *expr.Stmt) {
	fields := []string{"Kind: " + load.GoName(s.Name) + "Effect"}
	for _, e := range g.sys.Effects {
		if e.Name != s.Name {
			continue
		}
		for i, p := range e.Params {
			fields = append(fields, g.effectName(p)+": "+g.expr(s.Args[i]))
		}
	}
	g.p("out = append(out, Effect{%s})", strings.Join(fields, ", "))
}

// uses reports whether statements read a local.
func uses(list []*expr.Stmt, l *expr.Local) bool {
	found := false
	look := func(n *expr.Node) { found = found || mentions(n, l) }
	for _, s := range list {
		look(s.Target)
		look(s.Value)
		for _, a := range s.Args {
			look(a)
		}
		found = found || uses(s.Body, l) || uses(s.Else, l)
	}
	return found
}
