// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// expr types e. A nil want takes any type; a mistake gives nil.
func (t *typer) expr(e ast.Expr, want *Type, sc *Scope) *Node {
	n := t.typed(e, want, sc)
	if n != nil && want != nil && !fits(n.Type, want) {
		t.errorf(e, "%s is %s; expected %s", t.text(e), n.Type, want)
		return nil
	}
	return n
}

func (t *typer) text(e ast.Expr) string {
	lo, hi := int(e.Pos()-t.base), int(e.End()-t.base)
	if lo < 0 || hi > len(t.src) || lo > hi {
		return "expression"
	}
	return strings.Join(strings.Fields(t.src[lo:hi]), " ")
}

func (t *typer) node(e ast.Expr, op Op, typ *Type, args ...*Node) *Node {
	if slices.Contains(args, nil) {
		return nil
	}
	return &Node{Op: op, Type: typ, Off: int(e.Pos() - t.base), Args: args}
}

func (t *typer) typed(e ast.Expr, want *Type, sc *Scope) *Node {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return t.expr(e.X, want, sc)
	case *ast.BasicLit:
		return t.literal(e)
	case *ast.Ident:
		return t.ident(e, want, sc)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return t.node(e, Not, BoolType, t.expr(e.X, BoolType, sc))
		}
	case *ast.BinaryExpr:
		return t.binary(e, sc)
	case *ast.IndexExpr:
		return t.index(e, false, sc)
	case *ast.SelectorExpr:
		return t.selector(e, sc)
	case *ast.CallExpr:
		return t.call(e, sc)
	}
	t.errorf(e, "%s is not part of the expression language", t.text(e))
	return nil
}

func (t *typer) literal(e *ast.BasicLit) *Node {
	v, err := strconv.ParseInt(e.Value, 0, 32)
	if e.Kind != token.INT || err != nil {
		t.errorf(e, "%s; expected a whole number", e.Value)
		return nil
	}
	n := t.node(e, Const, intType)
	n.Val = int(v)
	return n
}

// known reports whether a name means something without knowing what is expected.
func (sc *Scope) known(name string) bool {
	return name == "true" || name == "false" || name == "old" || sc.Broken[name] || sc.local(name) != nil ||
		sc.Vars[name] != nil || sc.Consts[name] != nil || sc.Defs[name] != nil
}

func (t *typer) ident(e *ast.Ident, want *Type, sc *Scope) *Node {
	name := e.Name
	if name == "true" || name == "false" {
		n := t.node(e, Const, BoolType)
		if name == "true" {
			n.Val = 1
		}
		return n
	}
	if l := sc.local(name); l != nil {
		return t.readLocal(e, l, false, sc)
	}
	if c := sc.Consts[name]; c != nil {
		n := *c
		n.Off = int(e.Pos() - t.base)
		return &n
	}
	if sc.Vars[name] != nil {
		return t.readVar(e, name, nil, false, sc)
	}
	if sc.Defs[name] != nil {
		return t.useDef(e, name, nil, false, sc)
	}
	if sc.Broken[name] {
		return nil
	}
	if want != nil && want.Kind == Enum {
		if v, ok := want.Lookup(name); ok {
			n := t.node(e, Const, want)
			n.Val = v
			return n
		}
		t.errorf(e, "unknown name %s; expected a value of %s", name, want)
		return nil
	}
	t.errorf(e, "unknown name %s; expected a variable, a constant, a definition or a parameter", name)
	return nil
}

// readLocal reads a local; one that stands for an element reads the variable.
func (t *typer) readLocal(e ast.Expr, l *Local, old bool, sc *Scope) *Node {
	n := t.node(e, ReadLocal, l.Type)
	n.Local = l
	if l.alias == nil {
		return n
	}
	n.Type = l.alias.Over.Elem
	return t.read(e, l.alias, n, old, sc)
}

func (t *typer) readVar(e ast.Expr, name string, idx ast.Expr, old bool, sc *Scope) *Node {
	v := sc.Vars[name]
	switch {
	case v.Over == nil && idx != nil:
		t.errorf(e, "%s is one variable, not one for each of a set", name)
		return nil
	case v.Over != nil && idx == nil:
		t.errorf(e, "%s is one variable for each of %s; expected %s[…]", name, v.Over.Name, name)
		return nil
	case v.Over != nil:
		i := t.expr(idx, v.Over.Elem, sc)
		if i == nil {
			return nil
		}
		return t.read(e, v, i, old, sc)
	}
	return t.read(e, v, nil, old, sc)
}

func (t *typer) read(e ast.Expr, v *Var, idx *Node, old bool, sc *Scope) *Node {
	if v.Hidden && !sc.Hidden {
		t.errorf(e, "%s is hidden: only assume, world, properties and environment actions may read it", v.Name)
		return nil
	}
	v.Used = true
	n := t.node(e, ReadVar, v.Type)
	n.Var, n.Old = v, old
	if idx != nil {
		n.Args = []*Node{idx}
	}
	return n
}

// useDef applies a definition to arguments.
func (t *typer) useDef(e ast.Expr, name string, args []ast.Expr, old bool, sc *Scope) *Node {
	d := sc.Defs[name]
	d.Used = true
	if !t.ready(e, name, sc) {
		return nil
	}
	if d.Hidden && !sc.Hidden {
		t.errorf(e, "%s reads a hidden variable: only assume, world, properties and environment actions may", name)
		return nil
	}
	if d.UsesOld && (old || !sc.Old) {
		t.errorf(e, "%s speaks of the state before a step: only properties of steps may use it, and not after old", name)
		return nil
	}
	nodes, ok := t.arguments(e, name, d.Params, args, sc)
	if !ok {
		return nil
	}
	n := t.node(e, Call, d.Body.Type, nodes...)
	if n != nil {
		n.Def, n.Old = d, old
	}
	return n
}

// arguments types the arguments of a call.
func (t *typer) arguments(e ast.Expr, name string, params []*Local, args []ast.Expr, sc *Scope) ([]*Node, bool) {
	if len(args) != len(params) {
		t.errorf(e, "%s takes %d arguments, found %d", name, len(params), len(args))
		return nil, false
	}
	var nodes []*Node
	ok := true
	for i, a := range args {
		n := t.expr(a, params[i].Type, sc)
		nodes, ok = append(nodes, n), ok && n != nil
	}
	return nodes, ok
}

func (t *typer) index(e *ast.IndexExpr, old bool, sc *Scope) *Node {
	id, ok := e.X.(*ast.Ident)
	if sel, isSel := e.X.(*ast.SelectorExpr); isSel && isOld(sel, sc) {
		if !t.oldAllowed(e, sc) {
			return nil
		}
		id, ok, old = sel.Sel, true, true
	}
	if ok && sc.Broken[id.Name] {
		return nil
	}
	if !ok || sc.Vars[id.Name] == nil {
		t.errorf(e, "%s is no variable; expected v[a] with a variable v for each of a set", t.text(e.X))
		return nil
	}
	return t.readVar(e, id.Name, e.Index, old, sc)
}

func isOld(e *ast.SelectorExpr, sc *Scope) bool {
	id, ok := e.X.(*ast.Ident)
	return ok && id.Name == "old" && sc.local("old") == nil
}

func (t *typer) oldAllowed(e ast.Expr, sc *Scope) bool {
	if !sc.Old {
		t.errorf(e, "old: there is a state before only in properties of steps")
	}
	return sc.Old
}

// selector types old.name and x.tag.
func (t *typer) selector(e *ast.SelectorExpr, sc *Scope) *Node {
	name := e.Sel.Name
	if isOld(e, sc) {
		if !t.oldAllowed(e, sc) {
			return nil
		}
		switch l := sc.local(name); {
		case l != nil && l.alias != nil:
			return t.readLocal(e, l, true, sc)
		case sc.Vars[name] != nil:
			return t.readVar(e, name, nil, true, sc)
		case sc.Defs[name] != nil:
			return t.useDef(e, name, nil, true, sc)
		}
		if sc.Broken[name] {
			return nil
		}
		t.errorf(e, "unknown name %s after old; expected a variable or a definition", name)
		return nil
	}
	x := t.expr(e.X, nil, sc)
	if x == nil {
		return nil
	}
	mask, ok := x.Type.Tags[name]
	if !ok {
		t.errorf(e.Sel, "%s has no tag %s; expected %s", x.Type.Name, name, tagNames(x.Type))
		return nil
	}
	n := t.node(e, In, BoolType, x)
	n.Mask = mask
	return n
}

func tagNames(t *Type) string {
	var names []string
	for tag := range t.Tags {
		names = append(names, tag)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "no tag at all"
	}
	return "one of " + strings.Join(names, ", ")
}

// binary types x op y. A name that is no variable takes its meaning from the other side.
func (t *typer) binary(e *ast.BinaryExpr, sc *Scope) *Node {
	op, ok := binary[e.Op]
	if !ok {
		t.errorf(e, "operator %s is not part of the expression language", e.Op)
		return nil
	}
	var x, y *Node
	switch op {
	case And, Or:
		x, y = t.expr(e.X, BoolType, sc), t.expr(e.Y, BoolType, sc)
		return t.node(e, op, BoolType, x, y)
	case Eq, Ne:
		x, y = t.pair(e, sc)
		return t.node(e, op, BoolType, x, y)
	}
	if x = t.expr(e.X, intType, sc); x == nil {
		return nil
	}
	y = t.expr(e.Y, intType, sc)
	if op == Add || op == Sub {
		return t.node(e, op, sumType(x, y), x, y)
	}
	return t.node(e, op, BoolType, x, y)
}
