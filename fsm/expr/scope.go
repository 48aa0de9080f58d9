// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// Scope is what a text may name. The maps are read only while a text is typed.
type Scope struct {
	Vars    map[string]*Var
	Consts  map[string]*Node // of Op Const
	Defs    map[string]*Def
	Procs   map[string]*Proc
	Sets    map[string]*IndexSet
	Effects map[string][]*Local
	Tables  map[string]*Table
	Locals  []*Local
	Old     bool // old.name is allowed: the text judges a step
	Hidden  bool // hidden variables are allowed: the text speaks of the outside world
	// Broken are names whose own mistake was told already: what uses them is quietly
	// left untyped.
	Broken map[string]bool
	// Need is called before a definition or procedure is used, so that it can be
	// typed first.
	Need func(name string) Readiness
}

// Readiness says whether a definition or procedure can be used. The zero value is Ready.
type Readiness uint8

// The answers of Need.
const (
	Ready  Readiness = iota
	Spoilt           // it has mistakes, which were told already
	InWork           // it is being typed: it uses itself
)

// ready asks for a definition or procedure; only what uses itself is a new mistake.
func (t *typer) ready(at ast.Node, name string, sc *Scope) bool {
	if sc.Need == nil {
		return true
	}
	r := sc.Need(name)
	if r == InWork {
		t.errorf(at, "%s uses itself", name)
	}
	return r == Ready
}

// with returns a scope that also has the given locals.
func (sc *Scope) with(locals ...*Local) *Scope {
	c := *sc
	c.Locals = append(append([]*Local{}, sc.Locals...), locals...)
	return &c
}

func (sc *Scope) local(name string) *Local {
	for i := len(sc.Locals) - 1; i >= 0; i-- {
		if sc.Locals[i].Name == name {
			return sc.Locals[i]
		}
	}
	return nil
}

// typer types one text and collects its mistakes.
type typer struct {
	src      string
	base     token.Pos // of the first byte of the text
	mistakes []Mistake
}

func (t *typer) errorf(at ast.Node, format string, args ...any) {
	t.fail(int(at.Pos()-t.base), format, args...)
}

func (t *typer) fail(off int, format string, args ...any) {
	t.mistakes = append(t.mistakes, Mistake{min(max(off, 0), len(t.src)), fmt.Sprintf(format, args...)})
}

// prefix makes a statement list, or an expression, a Go file.
const prefix = "package p;func _(){"

// Expression types src, which has to give a value of type want. The node is nil if
// there are mistakes.
func Expression(src string, want *Type, sc *Scope) (*Node, []Mistake) {
	t := &typer{src: src}
	if strings.TrimSpace(src) == "" {
		t.fail(0, "expected %s, found nothing", want)
		return nil, t.mistakes
	}
	body := t.parse("_=("+strings.TrimRight(src, " \n")+")", len("_=("))
	if body == nil {
		return nil, t.mistakes
	}
	as, ok := body[0].(*ast.AssignStmt)
	if !ok || len(body) != 1 || len(as.Rhs) != 1 {
		t.fail(0, "expected one expression")
		return nil, t.mistakes
	}
	paren, ok := as.Rhs[0].(*ast.ParenExpr)
	if !ok || int(paren.Rparen-t.base) < len(strings.TrimRight(src, " \n")) {
		t.fail(0, "expected one expression; parentheses do not match")
		return nil, t.mistakes
	}
	n := t.expr(paren.X, want, sc)
	if len(t.mistakes) > 0 {
		return nil, t.mistakes
	}
	return n, nil
}

// Statements types a list of statements. It is nil if there are mistakes.
func Statements(src string, sc *Scope) ([]*Stmt, []Mistake) {
	t := &typer{src: src}
	body := t.parse(src, 0)
	if body == nil && len(t.mistakes) == 0 {
		t.fail(0, "expected a statement, found nothing")
	}
	out := t.block(body, sc)
	if len(t.mistakes) > 0 {
		return nil, t.mistakes
	}
	return out, nil
}

// parse parses text as the body of a function; skip bytes of it are not the
// author's.
func (t *typer) parse(text string, skip int) []ast.Stmt {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", prefix+text+"\n}", parser.SkipObjectResolution)
	start := len(prefix) + skip
	if err != nil {
		t.syntax(err, start)
		return nil
	}
	t.base = fset.File(file.Pos()).Pos(start)
	if len(file.Decls) != 1 {
		t.fail(0, "unbalanced }")
		return nil
	}
	return file.Decls[0].(*ast.FuncDecl).Body.List
}

// syntax notes the first error of the Go parser; the rest follow from it.
func (t *typer) syntax(err error, start int) {
	list, ok := err.(scanner.ErrorList)
	if !ok || len(list) == 0 {
		t.fail(0, "%v", err)
		return
	}
	t.fail(list[0].Pos.Offset-start, "%s", strings.Replace(list[0].Msg, "found newline", "found the end", 1))
}
