// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"slices"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// From this many on, plain bools are bits of one number: a state may be there a
// million times.
const (
	fewestFlags = 4
	mostFlags   = 64
)

// packFlags decides which variables are kept so.
func (g *systemGen) packFlags() {
	var list []*expr.Var
	for _, v := range g.visible() {
		if v.Name == "flags" {
			return // the name is taken
		}
		if v.Over == nil && v.Type.Kind == expr.Bool {
			list = append(list, v)
		}
	}
	if len(list) >= fewestFlags && len(list) <= mostFlags {
		g.flags = list
	}
}

func (g *systemGen) packs(v *expr.Var) bool { return slices.Contains(g.flags, v) }

func flagName(v *expr.Var) string { return "flag" + load.GoName(v.Name) }

func flagBits(n int) int {
	bits := 8
	for bits < n {
		bits *= 2
	}
	return bits
}

// flagType writes the type of the number.
func (g *systemGen) flagType() {
	if len(g.flags) == 0 {
		return
	}
	g.doc("flags holds the variables that are true or false, one bit each.")
	g.p("type flags uint%d\n\nconst (", flagBits(len(g.flags)))
	for i, v := range g.flags {
		if i == 0 {
			g.p("%s flags = 1 << iota", flagName(v))
		} else {
			g.p("%s", flagName(v))
		}
	}
	g.p(")\n\nfunc (f flags) has(one flags) bool { return f&one != 0 }\n")
	g.p("func (f *flags) set(one flags, yes bool) {\nif yes {\n*f |= one\n} else {\n*f &^= one\n}\n}\n")
}
