// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"go/ast"
	"slices"
	"strings"
)

// call types a call of a definition or of one of the language's own functions.
func (t *typer) call(e *ast.CallExpr, sc *Scope) *Node {
	if sel, ok := e.Fun.(*ast.SelectorExpr); ok && isOld(sel, sc) && sc.Defs[sel.Sel.Name] != nil {
		if !t.oldAllowed(e, sc) {
			return nil
		}
		return t.useDef(e, sel.Sel.Name, e.Args, true, sc)
	}
	if sel, ok := e.Fun.(*ast.SelectorExpr); ok {
		if id, isName := sel.X.(*ast.Ident); isName && sc.Tables[id.Name] != nil {
			return t.decide(e, sc.Tables[id.Name], sel.Sel, sc)
		}
	}
	id, ok := e.Fun.(*ast.Ident)
	if !ok {
		t.errorf(e, "%s is no function", t.text(e.Fun))
		return nil
	}
	if sc.Defs[id.Name] != nil {
		return t.useDef(e, id.Name, e.Args, false, sc)
	}
	want, known := arity[id.Name]
	switch {
	case sc.Broken[id.Name]:
		return nil
	case !known:
		t.errorf(e, "unknown function %s; expected all, any, count, has, implies, in, min, max, would or a definition", id.Name)
		return nil
	case want > 0 && len(e.Args) != want:
		t.errorf(e, "%s takes %d arguments, found %d", id.Name, want, len(e.Args))
		return nil
	}
	switch id.Name {
	case "implies":
		p, q := t.expr(e.Args[0], BoolType, sc), t.expr(e.Args[1], BoolType, sc)
		return t.node(e, Or, BoolType, t.node(e, Not, BoolType, p), q)
	case "min", "max":
		op := Min
		if id.Name == "max" {
			op = Max
		}
		x, y := t.expr(e.Args[0], intType, sc), t.expr(e.Args[1], intType, sc)
		return t.node(e, op, sumType(x, y), x, y)
	case "in":
		return t.in(e, sc)
	case "has":
		return t.has(e, sc)
	case "would":
		m := t.machine(e.Args[0], sc)
		if m == nil {
			return nil
		}
		return t.node(e, Would, Results, m, t.expr(e.Args[1], m.Var.Machine.Event, sc))
	}
	return t.quantifier(e, id.Name, sc)
}

// decide types table.output(input, …).
func (t *typer) decide(e *ast.CallExpr, table *Table, output *ast.Ident, sc *Scope) *Node {
	var names []string
	for _, o := range table.Outputs {
		if o.Name != output.Name {
			names = append(names, o.Name)
			continue
		}
		args, ok := t.arguments(e, table.Name, table.Inputs, e.Args, sc)
		if !ok {
			return nil
		}
		n := t.node(e, Decide, o.Type, args...)
		n.Output = o
		return n
	}
	t.errorf(output, "table %s has no output %s; expected one of %s", table.Name, output.Name, strings.Join(names, ", "))
	return nil
}

// arity is the number of arguments of the language's own functions; 0: any number.
var arity = map[string]int{
	"all": 3, "any": 3, "count": 3, "has": 2, "implies": 2, "in": 0, "min": 2, "max": 2, "would": 2,
}

// machine types an expression that has to name a machine of the system.
func (t *typer) machine(e ast.Expr, sc *Scope) *Node {
	n := t.expr(e, nil, sc)
	if n == nil {
		return nil
	}
	if n.Op != ReadVar || n.Var.Machine == nil || n.Old {
		t.errorf(e, "%s is no machine of this system", t.text(e))
		return nil
	}
	return n
}

// in types in(x, V1, V2, ...): x is one of the constants.
func (t *typer) in(e *ast.CallExpr, sc *Scope) *Node {
	if len(e.Args) < 2 {
		t.errorf(e, "in takes a value and at least one constant")
		return nil
	}
	x := t.expr(e.Args[0], nil, sc)
	if x == nil {
		return nil
	}
	if x.Type.Kind != Enum {
		t.errorf(e.Args[0], "%s is %s; expected a value of an enum or machine", t.text(e.Args[0]), x.Type)
		return nil
	}
	n := t.node(e, In, BoolType, x)
	for _, a := range e.Args[1:] {
		v := t.expr(a, x.Type, sc)
		switch {
		case v == nil:
			n = nil
		case v.Op == Const && v.Val > 63:
			t.errorf(a, "%s is beyond the first 64 values of %s; compare it with ==", t.text(a), x.Type.Name)
			n = nil
		case v.Op != Const:
			t.errorf(a, "%s; expected a constant of %s", t.text(a), x.Type)
			n = nil
		case n != nil:
			n.Mask |= 1 << v.Val
		}
	}
	return n
}

// has types has(s, a): s is a set parameter or a set variable.
func (t *typer) has(e *ast.CallExpr, sc *Scope) *Node {
	if v, old, ok := t.setVar(e.Args[0], sc); ok {
		i := t.expr(e.Args[1], v.Over.Elem, sc)
		if i == nil || old && !t.oldAllowed(e, sc) {
			return nil
		}
		return t.read(e, v, i, old, sc)
	}
	s := t.expr(e.Args[0], nil, sc)
	if s == nil {
		return nil
	}
	if s.Type.Kind != Set {
		t.errorf(e.Args[0], "%s is %s; expected a set", t.text(e.Args[0]), s.Type)
		return nil
	}
	return t.node(e, Has, BoolType, s, t.expr(e.Args[1], s.Type.Over.Elem, sc))
}

// setVar recognises the name of a set variable, which is kept as one bool a member.
func (t *typer) setVar(e ast.Expr, sc *Scope) (v *Var, old, ok bool) {
	switch e := e.(type) {
	case *ast.Ident:
		v = sc.Vars[e.Name]
		ok = sc.local(e.Name) == nil
	case *ast.SelectorExpr:
		if isOld(e, sc) {
			v, old, ok = sc.Vars[e.Sel.Name], true, true
		}
	}
	return v, old, ok && v != nil && v.Set
}

// quantifier types all, any and count.
func (t *typer) quantifier(e *ast.CallExpr, name string, sc *Scope) *Node {
	id, ok := e.Args[0].(*ast.Ident)
	if !ok || sc.known(id.Name) {
		t.errorf(e.Args[0], "%s; expected a new name that the third argument uses", t.text(e.Args[0]))
		return nil
	}
	l := &Local{Name: id.Name}
	n := &Node{Type: BoolType, Off: int(e.Pos() - t.base), Local: l}
	switch name {
	case "all":
		n.Op = All
	case "any":
		n.Op = Any
	default:
		n.Op, n.Type = Count, intType
	}
	filter, ok := t.domain(e.Args[1], l, n, sc)
	if !ok {
		return nil
	}
	body := t.expr(e.Args[2], BoolType, sc.with(l))
	if body == nil {
		return nil
	}
	l.Type = n.Over.Elem
	n.Args = []*Node{body}
	if filter != nil {
		n.Args = append(n.Args, filter)
	}
	return n
}

// domain types what a quantifier or a loop ranges over, and gives l its meaning. The
// filter says whether l's index takes part; nil takes all.
func (t *typer) domain(e ast.Expr, l *Local, n *Node, sc *Scope) (filter *Node, ok bool) {
	if v, old, isSet := t.setVar(e, sc); isSet {
		n.Over, l.Type = v.Over, v.Over.Elem
		if old && !t.oldAllowed(e, sc) {
			return nil, false
		}
		filter = t.read(e, v, t.localNode(e, l), old, sc)
		return filter, filter != nil
	}
	if id, isName := e.(*ast.Ident); isName && sc.local(id.Name) == nil {
		if s := sc.Sets[id.Name]; s != nil {
			n.Over, l.Type = s, s.Elem
			return nil, true
		}
		if v := sc.Vars[id.Name]; v != nil && v.Over != nil {
			n.Over, l.Type, l.alias = v.Over, v.Type, v
			return nil, true
		}
		if sc.Broken[id.Name] {
			return nil, false
		}
		if !sc.known(id.Name) {
			t.errorf(e, "unknown name %s; expected %s", id.Name, setNames(sc))
			return nil, false
		}
	}
	s := t.expr(e, nil, sc)
	if s == nil {
		return nil, false
	}
	if s.Type.Kind != Set {
		t.errorf(e, "%s is %s; expected %s", t.text(e), s.Type, setNames(sc))
		return nil, false
	}
	n.Over, l.Type = s.Type.Over, s.Type.Over.Elem
	return t.node(e, Has, BoolType, s, t.localNode(e, l)), true
}

func (t *typer) localNode(e ast.Expr, l *Local) *Node {
	n := t.node(e, ReadLocal, l.Type)
	n.Local = l
	return n
}

func setNames(sc *Scope) string {
	names := []string{}
	for name := range sc.Sets {
		names = append(names, name)
	}
	for name, v := range sc.Vars {
		if v.Over != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := "a set"
	for i, name := range names {
		if i == 0 {
			out += " such as "
		} else {
			out += ", "
		}
		out += name
	}
	return out
}
