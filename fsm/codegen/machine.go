// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/kvxfer/kvxfer/fsm/load"
)

func (e *emitter) machine(m *load.Machine) {
	e.machineDoc(m)
	e.specHash()
	e.enum(m.StateEnum())
	e.predicates(m)
	e.enum(m.EventEnum())
	e.cells(m)
	e.next(m)
	e.refusals(m)
	e.forms(m)
}

// machineDoc shows the matrix in the package's doc, a line for each cell's row.
func (e *emitter) machineDoc(m *load.Machine) {
	for _, line := range wrap("Package "+m.Name+" is the machine "+m.Name+". "+m.Doc, 96) {
		e.file.PackageComment(line)
	}
	e.file.PackageComment("")
	e.file.PackageComment("# Matrix")
	e.file.PackageComment("")
	rows := [][]string{{"event \\ state"}}
	for _, s := range m.States {
		rows[0] = append(rows[0], s.Name)
	}
	for j, ev := range m.Events {
		row := []string{ev.Name}
		for i := range m.States {
			row = append(row, m.Word(m.Cells[i][j]))
		}
		rows = append(rows, row)
	}
	for _, line := range align(rows) {
		e.file.PackageComment("\t" + line)
	}
	e.file.PackageComment("")
	e.file.PackageComment("A name in capitals is a move; the other words are results that leave the state as it is.")
}

// specHash emits what programs store beside states, to know later by which rules
// these came about.
func (e *emitter) specHash() {
	e.comment("SpecSHA256 is the hash of the spec file that this package was generated from.")
	e.file.Const().Id("SpecSHA256").Op("=").Lit(fmt.Sprintf("%x", e.head.Source.SHA256))
}

// predicates emits Initial, IsFinal and one method a tag.
func (e *emitter) predicates(m *load.Machine) {
	initial := m.States[m.Initial()]
	e.comment("Initial is the state of a new machine, and of the zero Machine.")
	e.file.Const().Id("Initial").Op("=").Id(initial.Go)

	e.predicate(m, "IsFinal", "is a state that nothing has to leave", func(s load.State) bool { return s.Final })
	for _, tag := range m.Tags() {
		e.predicate(m, load.GoName(tag), "is tagged "+tag, func(s load.State) bool {
			for _, t := range s.Tags {
				if t == tag {
					return true
				}
			}
			return false
		})
	}
}

// predicate emits a test of one bit for each state.
func (e *emitter) predicate(m *load.Machine, name, doc string, in func(load.State) bool) {
	var names []string
	var goNames []jen.Code
	wide := false
	for _, s := range m.States {
		if in(s) {
			names = append(names, s.Name)
			goNames = append(goNames, jen.Id(s.Go))
			wide = wide || s.Code > 63
		}
	}
	list := "no state"
	if len(names) > 0 {
		list = strings.Join(names, ", ")
	}
	e.comment("%s reports whether v %s: %s.", name, doc, list)
	fn := e.file.Func().Params(jen.Id("v").Id("State")).Id(name).Params().Bool()
	switch {
	case len(names) == 0:
		fn.Block(jen.Return(jen.False()))
	case wide:
		fn.Block(jen.Switch(jen.Id("v")).Block(jen.Case(goNames...).Block(jen.Return(jen.True()))), jen.Return(jen.False()))
	default:
		set := jen.Null()
		for i, g := range goNames {
			if i > 0 {
				set.Op("|")
			}
			set.Lit(1).Op("<<").Add(g)
		}
		fn.Block(
			jen.Const().Id("set").Uint64().Op("=").Add(set),
			jen.Return(jen.Id("v").Op("<").Lit(64).Op("&&").Id("set").Op(">>").Parens(jen.Id("v").Op("&").Lit(63)).Op("&").Lit(1).Op("!=").Lit(0)))
	}
}

// refusals emits one static error for each cell that refuses.
func (e *emitter) refusals(m *load.Machine) {
	rows, _ := padded(m.StateEnum().MaxCode())
	cols, _ := padded(m.EventEnum().MaxCode())
	e.comment("refusals holds one static error for each cell that rejects or conflicts.")
	e.file.Var().Id("refusals").Op("=").Index(jen.Lit(rows)).Index(jen.Lit(cols)).Op("*").Add(e.qual("RefusedError")).ValuesFunc(func(g *jen.Group) {
		for i, s := range m.States {
			var row []jen.Code
			for j, ev := range m.Events {
				c := m.Cells[i][j]
				if !c.Result.Refused() {
					continue
				}
				row = append(row, jen.Line().Id(ev.Go).Op(":").Values(
					jen.Id("Machine").Op(":").Lit(m.Name), jen.Id("State").Op(":").Lit(s.Name), jen.Id("Event").Op(":").Lit(ev.Name),
					jen.Id("Result").Op(":").Add(e.qual(resultNames[c.Result])), jen.Id("Reason").Op(":").Lit(c.Why)))
			}
			if len(row) > 0 {
				g.Line().Id(s.Go).Op(":").Values(append(row, jen.Line())...)
			}
		}
		g.Line()
	})
	e.file.Var().Id("unknown").Op("=").Op("&").Add(e.qual("RefusedError")).Values(
		jen.Id("Machine").Op(":").Lit(m.Name), jen.Id("Result").Op(":").Add(e.qual("Rejected")))

	e.comment("Refusal returns the error of offering e in s: a static *%s where Next rejects or conflicts, nil where it does not. It never allocates.", e.runtimeName("RefusedError"))
	e.file.Func().Id("Refusal").Params(jen.Id("s").Id("State"), jen.Id("e").Id("Event")).Error().Block(
		jen.If(jen.Int().Call(jen.Id("s")).Op("<").Len(jen.Id("refusals")).Op("&&").Int().Call(jen.Id("e")).Op("<").Len(jen.Id("refusals").Index(jen.Lit(0)))).Block(
			jen.If(jen.Id("r").Op(":=").Id("refusals").Index(jen.Id("s")).Index(jen.Id("e")).Op(";").Id("r").Op("!=").Nil()).Block(jen.Return(jen.Id("r"))),
			jen.If(jen.Id("s").Dot("IsValid").Call().Op("&&").Id("e").Dot("IsValid").Call()).Block(jen.Return(jen.Nil())),
		),
		jen.Return(jen.Id("unknown")))
}

func (e *emitter) runtimeName(name string) string {
	if e.opt.Standalone {
		return standaloneName(name)
	}
	return fmt.Sprintf("fsm.%s", name)
}
