// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// constant swaps a constant for another of its type.
func (f *finder) constant(e ast.Expr, tv types.TypeAndValue) {
	switch p := f.parent(1).(type) {
	case *ast.CallExpr:
		if name := f.source(p.Fun); name == "make" || name == "slices.Grow" || p.Fun == e {
			return // how much is taken in advance changes nothing
		}
	case *ast.BinaryExpr:
		if p.Op == token.SHL || p.Op == token.SHR {
			return
		}
	}
	if isBool(tv.Type) {
		f.add(e.Pos(), e.End(), fmt.Sprintf("%s => %v", f.source(e), !constant.BoolVal(tv.Value)), "(mutant(ID) != (", "))")
		return
	}
	name, ok := f.typeName(tv.Type)
	if !ok || tv.Value.Kind() != constant.Int {
		return
	}
	other := f.sibling(e)
	if other == "" {
		if _, named := tv.Type.(*types.Named); named {
			return
		}
		other = f.source(e) + " + 1"
		switch {
		case strings.HasPrefix(other, "math.Max"):
			other = f.source(e) + " - 1" // there is no next one
		case !isWord(e):
			other = "(" + f.source(e) + ") + 1"
		}
	}
	f.add(e.Pos(), e.End(), f.source(e)+" => "+other, "mutantSwap["+name+"](ID, ", ", "+other+")")
}

func isWord(e ast.Expr) bool {
	switch e.(type) {
	case *ast.BasicLit, *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
		return true
	}
	return false
}

// typeName is the type as this file writes it.
func (f *finder) typeName(t types.Type) (string, bool) {
	if b, basic := t.(*types.Basic); basic && b.Info()&types.IsUntyped != 0 {
		return "", false
	}
	ok := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == f.pkg.types {
			return ""
		}
		q := f.qualifier(p)
		ok = ok && q != ""
		return q
	})
	return name, ok
}

// qualifier is the name by which this file imports a package, empty if it does not.
func (f *finder) qualifier(p *types.Package) string {
	for _, spec := range f.file.Imports {
		if strings.Trim(spec.Path.Value, `"`) == p.Path() {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return p.Name()
		}
	}
	return ""
}

// sibling is the constant after e's in the list of its type, the first after the last;
// empty where e is no constant of such a list.
func (f *finder) sibling(e ast.Expr) string {
	id, qualifier := (*ast.Ident)(nil), ""
	switch e := e.(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id, qualifier = e.Sel, f.source(e.X)+"."
	default:
		return ""
	}
	c, ok := f.pkg.info.Uses[id].(*types.Const)
	named, isNamed := f.pkg.info.TypeOf(e).(*types.Named)
	if !ok || !isNamed || named.Obj().Pkg() != c.Pkg() || c.Pkg().Path() == "time" {
		return ""
	}
	list := constants(c.Pkg(), named, qualifier != "")
	if i := slices.Index(list, c.Name()); i >= 0 && len(list) > 1 {
		return qualifier + list[(i+1)%len(list)]
	}
	return ""
}

// constants of a type in the order of their values, each value once.
func constants(p *types.Package, t types.Type, exported bool) []string {
	var list []*types.Const
	for _, name := range p.Scope().Names() {
		c, ok := p.Scope().Lookup(name).(*types.Const)
		if ok && types.Identical(c.Type(), t) && (c.Exported() || !exported) && c.Val().Kind() == constant.Int {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *types.Const) int {
		switch {
		case constant.Compare(a.Val(), token.LSS, b.Val()):
			return -1
		case constant.Compare(a.Val(), token.EQL, b.Val()):
			return 0
		}
		return 1
	})
	list = slices.CompactFunc(list, func(a, b *types.Const) bool { return constant.Compare(a.Val(), token.EQL, b.Val()) })
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name()
	}
	return names
}
