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

// effectField is one field that effects share.
type effectField struct {
	name, typ string
	used      []string // by these effects
}

// effectName is the field of an effect's parameter: parameters of one name and type
// share it; a name with several types takes the type's name along.
func (g *systemGen) effectName(l *expr.Local) string {
	name := load.GoName(l.Name)
	for _, e := range g.sys.Effects {
		for _, p := range e.Params {
			if p.Name == l.Name && g.goType(p.Type) != g.goType(l.Type) {
				home, own, _ := strings.Cut(strings.NewReplacer("[", "_", "]", "").Replace(l.Type.Name), ".")
				return name + load.GoName(home) + load.GoName(own)
			}
		}
	}
	return name
}

// effects writes the one type of all effects.
func (g *systemGen) effects() {
	if len(g.sys.Effects) == 0 {
		g.doc("Effect is what an action asks its caller to do; this system asks for nothing.")
		g.p("type Effect struct{}\n")
		return
	}
	var fields []*effectField
	g.doc("Kind says what an effect is. The zero value is no kind.")
	g.p("type Kind uint8\n\n// The kinds of effects; the fields that each one uses stand in parentheses.\nconst (\n_ Kind = iota")
	var names []string
	for _, e := range g.sys.Effects {
		names = append(names, e.Name)
		var uses []string
		for _, prm := range e.Params {
			name, typ := g.effectName(prm), g.goType(prm.Type)
			uses = append(uses, name)
			fields = addField(fields, name, typ, e.Name)
		}
		text := fmt.Sprintf("%s: %s.", load.GoName(e.Name), e.Doc)
		if len(uses) > 0 {
			text += " (" + strings.Join(uses, ", ") + ")"
		}
		g.doc("%s", text)
		g.p("%s", load.GoName(e.Name)+"Effect")
	}
	g.p(")\n\nvar kindNames = [...]string{\"\", %s}\n", quoted(names))
	g.p("// String returns the name in the spec, or Kind(n) for a value that is not valid.")
	g.p("func (k Kind) String() string {\nif k > 0 && int(k) < len(kindNames) {\nreturn kindNames[k]\n}\nreturn \"Kind(\" + %s.Itoa(int(k)) + \")\"\n}\n", g.pkg("strconv"))
	g.doc("Effect is one thing that an action asks its caller to do. Fields that its kind does not use are zero.")
	g.p("type Effect struct {\nKind Kind")
	for _, f := range fields {
		g.p("%s %s // %s", f.name, f.typ, strings.Join(f.used, ", "))
	}
	g.p("}\n")
}

func addField(fields []*effectField, name, typ, user string) []*effectField {
	for _, f := range fields {
		if f.name == name && f.typ == typ {
			f.used = append(f.used, user)
			return fields
		}
	}
	return append(fields, &effectField{name, typ, []string{user}})
}

// state writes the struct. Replicated variables are one bit a member in each of a few
// words, so that conditions over all members are a few instructions.
func (g *systemGen) state() {
	g.doc("System is the state of one %s. Make one with New; the zero value is not valid. "+
		"Copies are independent, and equal states compare equal. A System may be read by many goroutines, or changed by one.", g.sys.Name)
	g.p("type System struct {")
	var fields []structField
	for _, v := range g.visible() {
		if !g.packs(v) {
			fields = append(fields, structField{field(v) + " " + g.fieldType(v), alignment(v)})
		}
	}
	if n := len(g.flags); n > 0 {
		fields = append(fields, structField{"flags flags", flagBits(n) / 8})
	}
	for _, s := range g.memberSets() {
		g.sets[s] = true
		fields = append(fields, structField{fmt.Sprintf("n%s uint8 // members of %s", load.GoName(s.Name), s.Name), 1})
	}
	slices.SortStableFunc(fields, func(a, b structField) int { return b.align - a.align }) // no gaps between them
	for _, f := range fields {
		g.p("%s", f.text)
	}
	g.p("}\n")
}

type structField struct {
	text  string
	align int
}

// alignment is the size of the words that a variable's field is made of.
func alignment(v *expr.Var) int {
	switch {
	case v.Type.Time, v.Over != nil && (v.Type.Kind == expr.Bool || v.Type.Kind == expr.Enum), v.Type.Kind == expr.Set:
		return 8
	case v.Type.Kind == expr.Int:
		return map[string]int{"uint8": 1, "uint16": 2, "int32": 4}[intType(v.Type)]
	}
	return 1
}

// constructor writes New: the sizes of the sets and the values that the spec leaves open.
func (g *systemGen) constructor() {
	var params, checks, sets []string
	for _, s := range g.memberSets() {
		name := load.GoParam(s.Name)
		params = append(params, name+" int")
		checks = append(checks, fmt.Sprintf("%s < 1 || %s > %d", name, name, s.Max))
		sets = append(sets, fmt.Sprintf("n%s: uint8(%s)", load.GoName(s.Name), name))
	}
	var late []string
	for _, v := range g.visible() {
		switch {
		case g.packs(v) && v.InitAny:
			name := g.local(&expr.Local{Name: v.Name})
			params = append(params, name+" bool")
			late = append(late, fmt.Sprintf("s.flags.set(%s, %s)", flagName(v), name))
		case g.packs(v):
			if v.Init != 0 {
				late = append(late, fmt.Sprintf("s.flags.set(%s, true)", flagName(v)))
			}
		case v.InitAny && v.Over == nil:
			l := &expr.Local{Name: v.Name, Type: v.Type}
			name := g.local(l)
			params = append(params, name+" "+g.goType(v.Type))
			if c := g.validity(l); c != "" {
				checks = append(checks, c)
			}
			sets = append(sets, field(v)+": "+g.store(v, name))
		case v.InitAny && v.Type.Kind == expr.Bool:
			name := g.local(&expr.Local{Name: v.Name})
			params = append(params, name+" uint64")
			late = append(late, fmt.Sprintf("s.%s = %s & s.%s", field(v), name, g.all(v.Over)))
		case v.InitAny:
			g.fail("variable %s: any first value for each of a set is not supported in Go, except for bool", v.Name)
		case v.Over == nil:
			if v.Type.Kind == expr.Bool && v.Init == 0 || v.Type.Kind == expr.Int && v.Init == 0 {
				continue
			}
			sets = append(sets, field(v)+": "+g.store(v, g.value(v.Type, v.Init)))
		default:
			late = append(late, g.fill(v)...)
		}
	}
	g.doc("New returns the system in its first state. A number of members or a value out of range is an error of kind fsm.InvalidArgument.")
	g.p("func New(%s) (System, error) {", strings.Join(params, ", "))
	if len(checks) > 0 {
		g.p("if %s {\nreturn System{}, errNew\n}", strings.Join(checks, " || "))
		g.staticError("errNew", "new", "invalid_argument", "a number of members or a first value is out of range")
	}
	g.p("s := System{%s}", strings.Join(sets, ", "))
	for _, line := range late {
		g.p("%s", line)
	}
	if n := g.sys.Initially; n != nil {
		if c := visiblePart(n); c != nil {
			g.p("if !(%s) {\nreturn System{}, errNew\n}", g.expr(c))
		}
	}
	if len(g.sys.Reactions) > 0 {
		g.p("s.settle(nil)")
	}
	g.p("return s, nil\n}\n")
}

// visiblePart leaves out the conditions that speak of hidden variables.
func visiblePart(n *expr.Node) *expr.Node {
	if n.Op == expr.And {
		x, y := visiblePart(n.Args[0]), visiblePart(n.Args[1])
		switch {
		case x == nil:
			return y
		case y == nil:
			return x
		}
		return &expr.Node{Op: expr.And, Type: n.Type, Args: []*expr.Node{x, y}}
	}
	hidden := false
	expr.Walk(n, func(n *expr.Node) {
		hidden = hidden || n.Op == expr.ReadVar && n.Var.Hidden || n.Op == expr.Call && n.Def.Hidden
	})
	if hidden {
		return nil
	}
	return n
}

// fill sets a replicated variable to its first value for every member.
func (g *systemGen) fill(v *expr.Var) []string {
	f := "s." + field(v)
	switch {
	case v.Type.Kind == expr.Bool && v.Init == 0, v.Type.Kind == expr.Int && v.Init == 0:
		return nil
	case v.Type.Kind == expr.Bool:
		return []string{f + " = s." + g.all(v.Over)}
	case v.Type.Kind == expr.Enum:
		return []string{fmt.Sprintf("%s.fill(s.%s, %s)", f, g.all(v.Over), g.code(v.Type, v.Init))}
	}
	return []string{fmt.Sprintf("for i := range %s {\n%s[i] = %d\n}", f, f, v.Init)}
}

// store converts a value of an expression's type to the field's.
func (g *systemGen) store(v *expr.Var, text string) string {
	if v.Type.Kind == expr.Int && !v.Type.Time {
		return intType(v.Type) + "(" + text + ")"
	}
	return text
}

// getters write one method a variable.
func (g *systemGen) getters() {
	for _, v := range g.visible() {
		name := load.GoName(v.Name)
		what := "."
		if v.Doc != "" {
			what = ": " + strings.TrimSuffix(v.Doc, ".") + "."
		}
		if v.Over == nil {
			text, _ := g.read(&expr.Node{Op: expr.ReadVar, Var: v, Type: v.Type})
			g.doc("%s returns the variable %s%s", name, v.Name, what)
			g.p("func (s *System) %s() %s { return %s }\n", name, g.goType(v.Type), text)
			continue
		}
		l := &expr.Local{Name: "i", Type: v.Over.Elem}
		text, _ := g.read(&expr.Node{Op: expr.ReadVar, Var: v, Type: v.Type, Args: []*expr.Node{{Op: expr.ReadLocal, Local: l}}})
		g.doc("%s returns the variable %s of member i%s", name, v.Name, what)
		g.p("func (s *System) %s(i int) %s { return %s }\n", name, g.goType(v.Type), text)
	}
}

// definitions write one method each.
func (g *systemGen) definitions() {
	for _, d := range g.published() {
		g.doc("%s reports what the spec defines as %s: %s.", load.GoName(d.Name), d.Name, d.Body)
		g.p("func (s *System) %s(%s) %s {", load.GoName(d.Name), g.params(d.Params), g.goType(d.Body.Type))
		g.askOnceIn(d.Body)
		g.p("return %s\n}\n", g.expr(d.Body))
		clear(g.answers)
	}
}

func (g *systemGen) params(list []*expr.Local) string {
	var out []string
	for _, l := range list {
		out = append(out, g.local(l)+" "+g.goType(l.Type))
	}
	return strings.Join(out, ", ")
}
