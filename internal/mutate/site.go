// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one small change of a function.
type mutant struct {
	ID    int    `json:"id"`   // 1, 2, ... in one package
	File  string `json:"file"` // from the root of the module
	Line  int    `json:"line"`
	Func  string `json:"func"`
	What  string `json:"what"`            // such as "a < b => a <= b"
	Again int    `json:"again,omitempty"` // 2, 3, ... where the function has the change more than once
}

// key names a mutant in the list of known survivors. It holds no line, so that it
// survives edits elsewhere.
func (m *mutant) key() string {
	k := fmt.Sprintf("%s %s: %s", m.File, m.Func, m.What)
	if m.Again > 0 {
		k += fmt.Sprintf(" #%d", m.Again)
	}
	return k
}

// finder makes the mutants of one file, each as a change of its text that a switch at
// run time turns on: all of a package are compiled once.
type finder struct {
	pkg     *source
	file    *ast.File
	text    []byte
	name    string
	edits   []edit
	mutants []*mutant
	next    func() int
	seen    map[string]int
	stack   []ast.Node
}

// find visits the functions and variables of the file.
func (f *finder) find() {
	ast.Inspect(f.file, func(n ast.Node) bool {
		if n == nil {
			f.stack = f.stack[:len(f.stack)-1]
			return true
		}
		if !f.visit(n) {
			return false
		}
		f.stack = append(f.stack, n)
		return true
	})
}

// visit reports whether to look inside.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.Field, *ast.ArrayType:
		return false
	case ast.Stmt:
		f.statement(n)
	case ast.Expr:
		return f.expression(n)
	}
	return true
}

func (f *finder) parent(up int) ast.Node {
	if up > len(f.stack) {
		return nil
	}
	return f.stack[len(f.stack)-up]
}

// add makes a mutant of the part between two places: before goes in front of it, after
// behind it, with "ID" for the number.
func (f *finder) add(from, to token.Pos, what, before, after string) {
	m := &mutant{ID: f.next(), File: f.name, Line: f.pkg.fset.Position(from).Line, Func: f.function(), What: what}
	f.seen[m.key()]++
	if n := f.seen[m.key()]; n > 1 {
		m.Again = n
	}
	f.mutants = append(f.mutants, m)
	id := fmt.Sprint(m.ID)
	f.wrap(from, to, strings.ReplaceAll(before, "ID", id), strings.ReplaceAll(after, "ID", id))
}

// function names the one that holds the place that is visited.
func (f *finder) function() string {
	for _, n := range f.stack {
		if d, ok := n.(*ast.FuncDecl); ok {
			if d.Recv == nil {
				return d.Name.Name
			}
			return types.ExprString(d.Recv.List[0].Type) + "." + d.Name.Name
		}
	}
	return "var"
}

// source of a part, in one line.
func (f *finder) source(n ast.Node) string {
	return strings.Join(strings.Fields(string(f.text[f.offset(n.Pos()):f.offset(n.End())])), " ")
}

func (f *finder) raw(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

// statement makes mutants that leave the statement out.
func (f *finder) statement(s ast.Stmt) {
	switch f.parent(1).(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		if c, ok := f.parent(1).(*ast.CommClause); ok && c.Comm == s {
			return
		}
	default:
		return
	}
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && f.source(call.Fun) == "panic" {
			return
		}
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE || blank(s) {
			return
		}
	case *ast.IncDecStmt:
		other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok]
		f.add(s.Pos(), s.End(), f.source(s)+" => "+f.source(s.X)+other, "if mutant(ID) { "+f.raw(s.X)+other+" } else { ", " }")
	case *ast.BranchStmt:
		if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
			return
		}
	case *ast.ReturnStmt:
		if !f.mayGoOn() {
			return
		}
	case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
	default:
		return
	}
	what := f.source(s)
	if len(what) > 100 {
		what = what[:100] + "..."
	}
	f.add(s.Pos(), s.End(), "remove "+what, "if !mutant(ID) { ", " }")
}

func blank(s *ast.AssignStmt) bool {
	return !slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { id, ok := e.(*ast.Ident); return !ok || id.Name != "_" })
}

// mayGoOn reports whether something follows a return that is left out.
func (f *finder) mayGoOn() bool {
	switch p := f.parent(1).(type) {
	case *ast.BlockStmt:
		i, ok := f.parent(2).(*ast.IfStmt)
		return ok && i.Body == p && i.Else == nil
	case *ast.CaseClause, *ast.CommClause:
		for i := len(f.stack) - 1; i >= 0; i-- {
			var kind *ast.FuncType
			var body *ast.BlockStmt
			switch fn := f.stack[i].(type) {
			case *ast.FuncDecl:
				kind, body = fn.Type, fn.Body
			case *ast.FuncLit:
				kind, body = fn.Type, fn.Body
			default:
				continue
			}
			if kind.Results == nil {
				return true
			}
			_, returns := body.List[len(body.List)-1].(*ast.ReturnStmt)
			return returns
		}
	}
	return false
}
