// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"go/ast"
	"go/token"
)

var binary = map[token.Token]Op{
	token.LAND: And, token.LOR: Or, token.EQL: Eq, token.NEQ: Ne, token.LSS: Lt,
	token.LEQ: Le, token.GTR: Gt, token.GEQ: Ge, token.ADD: Add, token.SUB: Sub,
}

// sumType is the type of sums, and of the smaller or larger of two numbers: a time if
// one of them is.
func sumType(x, y *Node) *Type {
	if x != nil && x.Type.Time || y != nil && y.Type.Time {
		return timeType
	}
	return intType
}

func (t *typer) pair(e *ast.BinaryExpr, sc *Scope) (x, y *Node) {
	if id, ok := e.X.(*ast.Ident); ok && !sc.known(id.Name) {
		if other, isName := e.Y.(*ast.Ident); isName && !sc.known(other.Name) {
			t.expr(e.X, nil, sc) // neither says what is meant: tell of the first
			return nil, nil
		}
		if y = t.expr(e.Y, nil, sc); y != nil {
			x = t.expr(e.X, y.Type, sc)
		}
		return x, y
	}
	if x = t.expr(e.X, nil, sc); x == nil {
		return nil, nil
	}
	return x, t.expr(e.Y, x.Type, sc)
}
