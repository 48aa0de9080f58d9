// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// goType is the Go type of values of t, in expressions and parameters.
func (g *systemGen) goType(t *expr.Type) string {
	switch t.Kind {
	case expr.Bool:
		return "bool"
	case expr.Int:
		if t.Time {
			return g.pkg("time") + ".Duration"
		}
		return "int"
	case expr.Index:
		return "int"
	case expr.Set:
		return "uint64"
	}
	if t == expr.Results {
		return g.pkg(g.opt.runtime()) + ".Result"
	}
	home, name, _ := strings.Cut(t.Name, ".")
	switch {
	case g.machine(t.Name):
		return g.spec(t.Name) + ".State"
	case name == "event":
		return g.spec(home) + ".Event"
	case name != "":
		return g.spec(home) + "." + name
	}
	return t.Name // an enum of the system itself
}

func (g *systemGen) machine(name string) bool {
	return slices.ContainsFunc(g.sys.Machines, func(m *load.Machine) bool { return m.Name == name })
}

// value is the Go form of a constant.
func (g *systemGen) value(t *expr.Type, v int) string {
	switch t.Kind {
	case expr.Bool:
		return fmt.Sprint(v != 0)
	case expr.Enum:
		if t == expr.Results {
			return g.pkg(g.opt.runtime()) + "." + load.GoName(t.Values[v])
		}
		if own := g.goType(t); !strings.Contains(own, ".") {
			return own + load.GoName(t.Values[v])
		}
		home, _, _ := strings.Cut(g.goType(t), ".")
		return home + "." + g.constant(t, t.Values[v])
	}
	return fmt.Sprint(v)
}

// constant is the Go name of a value of another spec's enum.
func (g *systemGen) constant(t *expr.Type, name string) string {
	for _, e := range g.foreignEnums() {
		if e.of(t) {
			if i, ok := e.enum.Lookup(name); ok {
				return e.enum.Values[i].Go
			}
		}
	}
	return load.GoName(name)
}

// foreignEnum is an enum of another spec with the name of its type here.
type foreignEnum struct {
	typ  string
	enum *load.Enum
}

func (f foreignEnum) of(t *expr.Type) bool { return f.typ == t.Name }

func (g *systemGen) foreignEnums() []foreignEnum {
	var out []foreignEnum
	for _, m := range g.sys.Machines {
		out = append(out, foreignEnum{m.Name, m.StateEnum()}, foreignEnum{m.Name + ".event", m.EventEnum()})
	}
	for _, t := range g.sys.Tables {
		for _, e := range t.Enums {
			out = append(out, foreignEnum{t.Name + "." + e.Name, e})
		}
	}
	return out
}

// code is the number that stands for the value v of an enum in memory.
func (g *systemGen) code(t *expr.Type, v int) string {
	return "uint8(" + g.value(t, v) + ")"
}

// lanes is the number of bits of an enum's codes.
func (g *systemGen) lanes(t *expr.Type) int {
	most := len(t.Values)
	for _, e := range g.foreignEnums() {
		if e.of(t) {
			most = e.enum.MaxCode()
		}
	}
	bits := 0
	for 1<<bits <= most {
		bits++
	}
	return bits
}

// fieldType is the type of a variable in memory.
func (g *systemGen) fieldType(v *expr.Var) string {
	switch {
	case v.Over == nil && v.Type.Kind == expr.Int && !v.Type.Time:
		return intType(v.Type)
	case v.Over == nil:
		return g.goType(v.Type)
	case v.Type.Kind == expr.Bool:
		return "uint64"
	case v.Type.Kind == expr.Enum:
		n := g.lanes(v.Type)
		g.lane[n] = true
		return fmt.Sprintf("lanes%d", n)
	case v.Type.Time:
		return fmt.Sprintf("[%d]%s", v.Over.Max, g.goType(v.Type))
	}
	return fmt.Sprintf("[%d]%s", v.Over.Max, intType(v.Type))
}

func intType(t *expr.Type) string {
	switch {
	case t.Lo >= 0 && t.Hi < 1<<8:
		return "uint8"
	case t.Lo >= 0 && t.Hi < 1<<16:
		return "uint16"
	}
	return "int32"
}

// pkg imports a package and gives its name.
func (g *systemGen) pkg(path string) string {
	g.imports[path] = true
	return path[strings.LastIndexByte(path, '/')+1:]
}

// spec imports the generated package of another spec.
func (g *systemGen) spec(name string) string {
	return g.pkg(strings.TrimSuffix(g.opt.ImportPath, "/") + "/" + name)
}

// local is the Go name of a parameter or loop variable; it never hides a package or
// what every method has.
func (g *systemGen) local(l *expr.Local) string {
	name := load.GoParam(l.Name)
	taken := []string{"s", "out", "fsm", "bits", "time", "len", "append", "min", "max", "true", "false", "nil", "error", "uint64", "uint8", "int", "bool", "later", "everyone"}
	for _, m := range g.sys.Machines {
		taken = append(taken, m.Name)
	}
	for _, t := range g.sys.Tables {
		taken = append(taken, t.Name)
	}
	if slices.Contains(taken, name) || goKeyword(name) {
		return name + "Arg"
	}
	return name
}

// field is the Go name of a variable.
func field(v *expr.Var) string {
	name := load.GoParam(v.Name)
	if goKeyword(name) {
		return name + "Var"
	}
	return name
}
