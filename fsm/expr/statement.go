// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"go/ast"
	"go/token"
)

func (t *typer) block(list []ast.Stmt, sc *Scope) []*Stmt {
	var out []*Stmt
	for _, s := range list {
		st, local := t.stmt(s, sc)
		if st != nil {
			out = append(out, st)
		}
		if local != nil {
			sc = sc.with(local)
		}
	}
	return out
}

// stmt types one statement; local is a name that it declares for those after it.
func (t *typer) stmt(s ast.Stmt, sc *Scope) (st *Stmt, local *Local) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if len(s.Lhs) == 1 && len(s.Rhs) == 1 && s.Tok == token.ASSIGN {
			return t.assign(s.Lhs[0], s.Rhs[0], sc), nil
		}
		if len(s.Lhs) == 1 && len(s.Rhs) == 1 && s.Tok == token.DEFINE {
			return t.define(s, sc)
		}
	case *ast.IncDecStmt:
		return t.incDec(s, sc), nil
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			return t.callStmt(call, sc), nil
		}
	case *ast.IfStmt:
		return t.ifStmt(s, sc), nil
	case *ast.RangeStmt:
		return t.rangeStmt(s, sc), nil
	case *ast.EmptyStmt:
		return nil, nil
	}
	t.errorf(s, "statement is not part of the language; expected v = x, r := offer(m, e), if, for … range, emit(…) or a procedure")
	return nil, nil
}

// target types the left side of an assignment.
func (t *typer) target(e ast.Expr, sc *Scope) *Node {
	free := *sc
	free.Hidden = true
	v := assigned(e, sc)
	used := v != nil && v.Used
	n := t.expr(e, nil, &free)
	if v != nil {
		v.Used = used // to write a variable is not to read it
	}
	if n == nil {
		return nil
	}
	switch {
	case n.Op != ReadVar || n.Old:
		t.errorf(e, "%s cannot be assigned; expected a variable", t.text(e))
		return nil
	case n.Var.Hidden && !sc.Hidden:
		t.errorf(e, "%s is hidden: only world and environment actions may change it", n.Var.Name)
		return nil
	}
	return n
}

// assigned finds the variable that an assignment is about.
func assigned(e ast.Expr, sc *Scope) *Var {
	if idx, ok := e.(*ast.IndexExpr); ok {
		e = idx.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return sc.Vars[id.Name]
	}
	return nil
}

func (t *typer) assign(lhs, rhs ast.Expr, sc *Scope) *Stmt {
	n := t.target(lhs, sc)
	if n == nil {
		return nil
	}
	if n.Var.Machine != nil {
		t.errorf(lhs, "%s is a machine: offer it an event; its state is not assigned", t.text(lhs))
		return nil
	}
	v := t.expr(rhs, n.Var.Type, sc)
	if v == nil {
		return nil
	}
	return &Stmt{Op: Assign, Off: n.Off, Target: n, Value: v}
}

func (t *typer) incDec(s *ast.IncDecStmt, sc *Scope) *Stmt {
	n := t.target(s.X, sc)
	if n == nil {
		return nil
	}
	if n.Type.Kind != Int {
		t.errorf(s.X, "%s is %s; expected a number", t.text(s.X), n.Type)
		return nil
	}
	op := Add
	if s.Tok == token.DEC {
		op = Sub
	}
	one := &Node{Op: Const, Type: intType, Val: 1, Off: n.Off}
	return &Stmt{Op: Assign, Off: n.Off, Target: n, Value: &Node{Op: op, Type: intType, Off: n.Off, Args: []*Node{n, one}}}
}

// define types r := offer(m, e).
func (t *typer) define(s *ast.AssignStmt, sc *Scope) (*Stmt, *Local) {
	id, ok := s.Lhs[0].(*ast.Ident)
	call, isCall := s.Rhs[0].(*ast.CallExpr)
	if !ok || !isCall {
		t.errorf(s, "expected r := offer(machine, event)")
		return nil, nil
	}
	if fun, isName := call.Fun.(*ast.Ident); !isName || fun.Name != "offer" {
		t.errorf(call, "%s; only offer gives a result", t.text(call.Fun))
		return nil, nil
	}
	if sc.known(id.Name) {
		t.errorf(id, "%s has a meaning already; expected a new name", id.Name)
	}
	l := &Local{Name: id.Name, Type: Results}
	st := t.offer(call, sc)
	if st != nil {
		st.Local = l
	}
	return st, l
}

func (t *typer) offer(call *ast.CallExpr, sc *Scope) *Stmt {
	if len(call.Args) != 2 {
		t.errorf(call, "offer takes 2 arguments, found %d", len(call.Args))
		return nil
	}
	m := t.machine(call.Args[0], sc)
	if m == nil {
		return nil
	}
	ev := t.expr(call.Args[1], m.Var.Machine.Event, sc)
	if ev == nil {
		return nil
	}
	return &Stmt{Op: Offer, Off: int(call.Pos() - t.base), Target: m, Value: ev}
}

func (t *typer) callStmt(call *ast.CallExpr, sc *Scope) *Stmt {
	off := int(call.Pos() - t.base)
	id, ok := call.Fun.(*ast.Ident)
	switch {
	case ok && id.Name == "offer":
		return t.offer(call, sc)
	case ok && id.Name == "emit":
		return t.emit(call, off, sc)
	case ok && sc.Procs[id.Name] != nil:
		p := sc.Procs[id.Name]
		if !t.ready(call, id.Name, sc) {
			return nil
		}
		if p.Hidden && !sc.Hidden {
			t.errorf(call, "%s is about hidden variables: only world and environment actions may call it", id.Name)
			return nil
		}
		args, ok := t.arguments(call, id.Name, p.Params, call.Args, sc)
		if !ok {
			return nil
		}
		return &Stmt{Op: CallProc, Off: off, Proc: p, Args: args}
	}
	if ok && sc.Broken[id.Name] {
		return nil
	}
	t.errorf(call, "unknown procedure %s; expected offer, emit or a procedure of the spec", t.text(call.Fun))
	return nil
}

func (t *typer) emit(call *ast.CallExpr, off int, sc *Scope) *Stmt {
	if len(call.Args) == 0 {
		t.errorf(call, "emit takes the name of an effect")
		return nil
	}
	id, ok := call.Args[0].(*ast.Ident)
	if ok && sc.Broken[id.Name] {
		return nil
	}
	params, known := sc.Effects[t.text(call.Args[0])]
	if !ok || !known {
		t.errorf(call.Args[0], "unknown effect %s", t.text(call.Args[0]))
		return nil
	}
	args, ok := t.arguments(call, id.Name, params, call.Args[1:], sc)
	if !ok {
		return nil
	}
	return &Stmt{Op: Emit, Off: off, Name: id.Name, Args: args}
}

func (t *typer) ifStmt(s *ast.IfStmt, sc *Scope) *Stmt {
	if s.Init != nil {
		t.errorf(s.Init, "if takes a condition alone")
		return nil
	}
	cond := t.expr(s.Cond, BoolType, sc)
	st := &Stmt{Op: If, Off: int(s.Pos() - t.base), Value: cond, Body: t.block(s.Body.List, sc)}
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		st.Else = t.block(e.List, sc)
	case *ast.IfStmt:
		if inner := t.ifStmt(e, sc); inner != nil {
			st.Else = []*Stmt{inner}
		}
	}
	return st
}

func (t *typer) rangeStmt(s *ast.RangeStmt, sc *Scope) *Stmt {
	id, ok := s.Key.(*ast.Ident)
	if !ok || s.Value != nil || s.Tok != token.DEFINE || sc.known(id.Name) {
		t.errorf(s, "expected for a := range set, with a new name a")
		return nil
	}
	l := &Local{Name: id.Name}
	n := &Node{}
	filter, ok := t.domain(s.X, l, n, sc)
	if !ok {
		return nil
	}
	if l.alias != nil {
		t.errorf(s.X, "a loop ranges over an index set or a set, not over the elements of %s", l.alias.Name)
		return nil
	}
	return &Stmt{Op: For, Off: int(s.Pos() - t.base), Local: l, Over: n.Over, Value: filter, Body: t.block(s.Body.List, sc.with(l))}
}
