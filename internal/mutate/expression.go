// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// expression makes mutants of conditions, arithmetic and constants.
func (f *finder) expression(e ast.Expr) bool {
	tv := f.pkg.info.Types[e]
	if f.isKey(e) || tv.IsType() {
		return false
	}
	if tv.Value != nil {
		f.constant(e, tv)
		return false
	}
	if f.isCondition(e) && isBool(tv.Type) {
		f.negate(e)
	}
	if b, ok := e.(*ast.BinaryExpr); ok {
		f.binary(b)
	}
	if sel, ok := e.(*ast.SelectorExpr); ok && f.pkg.info.Selections[sel] == nil {
		return false // a name of another package
	}
	return true
}

// isKey reports whether the expression is the key of a literal, which may have to be
// constant.
func (f *finder) isKey(e ast.Expr) bool {
	kv, ok := f.parent(1).(*ast.KeyValueExpr)
	return ok && kv.Key == e
}

func isBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// isCondition reports whether a truth is used here, and not only a part of one.
func (f *finder) isCondition(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return false
		}
		return true
	case *ast.ParenExpr:
		return false
	}
	switch p := f.parent(1).(type) {
	case *ast.UnaryExpr:
		return false
	case *ast.BinaryExpr:
		return p.Op == token.LAND || p.Op == token.LOR
	case *ast.IfStmt, *ast.ForStmt, *ast.ReturnStmt:
		return true
	case *ast.CaseClause:
		return true
	case *ast.AssignStmt:
		return slices.Contains(p.Rhs, e)
	}
	return false
}

func (f *finder) negate(e ast.Expr) {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		f.add(e.Pos(), e.End(), f.source(e)+" => !("+f.source(e)+")", "(mutant(ID) != (", "))")
		return
	}
	opposite := map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<"}[b.Op]
	f.add(e.Pos(), e.End(), f.changed(b, opposite), "(mutant(ID) != (", "))")
	beyond := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[b.Op]
	equal := "(" + f.raw(b.X) + ") == (" + f.raw(b.Y) + ")"
	switch b.Op {
	case token.LSS, token.GTR:
		f.add(e.Pos(), e.End(), f.changed(b, beyond), "(", " || mutant(ID) && "+equal+")")
	case token.LEQ, token.GEQ:
		f.add(e.Pos(), e.End(), f.changed(b, beyond), "(", " && !(mutant(ID) && "+equal+"))")
	}
}

func (f *finder) changed(b *ast.BinaryExpr, op string) string {
	return fmt.Sprintf("%s => %s %s %s", f.source(b), f.source(b.X), op, f.source(b.Y))
}

// arithmetic operators with the one that takes each's place.
var arithmetic = map[token.Token]struct{ name, other string }{
	token.ADD: {"Add", "-"}, token.SUB: {"Sub", "+"}, token.MUL: {"Mul", "/"}, token.QUO: {"Quo", "*"}, token.REM: {"Rem", "*"},
	token.AND: {"BitAnd", "|"}, token.OR: {"BitOr", "&"},
}

func (f *finder) binary(b *ast.BinaryExpr) {
	switch b.Op {
	case token.LAND:
		f.add(b.Pos(), b.End(), f.changed(b, "||"), "mutantAnd(ID, ", ") })")
		f.replace(b.OpPos, 2, ", func() bool { return (")
	case token.LOR:
		f.add(b.Pos(), b.End(), f.changed(b, "&&"), "mutantOr(ID, ", ") })")
		f.replace(b.OpPos, 2, ", func() bool { return (")
	default:
		op, ok := arithmetic[b.Op]
		t, basic := f.pkg.info.TypeOf(b).Underlying().(*types.Basic)
		if !ok || !basic || t.Info()&types.IsNumeric == 0 || t.Info()&types.IsUntyped != 0 {
			return
		}
		f.add(b.Pos(), b.End(), f.changed(b, op.other), "mutant"+op.name+"(ID, ", ")")
		f.replace(b.OpPos, len(b.Op.String()), ",")
	}
}
