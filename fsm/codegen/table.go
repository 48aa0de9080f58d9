// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/kvxfer/kvxfer/fsm/load"
)

func (e *emitter) table(t *load.Table) {
	e.tableDoc(t)
	e.specHash()
	for _, c := range slices.Concat(t.Inputs, t.Outputs) {
		if c.Enum != nil {
			e.file.ImportName(path.Join(e.opt.ImportPath, c.Enum.Spec), c.Enum.Spec)
		}
	}
	for _, en := range t.Enums {
		e.enum(en)
	}
	e.decision(t)
	e.answers(t)
	e.decide(t)
	e.reason(t)
}

// tableDoc shows the rules in the package's doc.
func (e *emitter) tableDoc(t *load.Table) {
	for _, line := range wrap("Package "+t.Name+" is the decision table "+t.Name+". "+t.Doc, 96) {
		e.file.PackageComment(line)
	}
	for _, line := range []string{"", "# Rules", "", "Every combination of the inputs matches exactly one row.", ""} {
		e.file.PackageComment(line)
	}
	for _, line := range align(ruleRows(t)) {
		e.file.PackageComment("\t" + line)
	}
}

// ruleRows lays the rules out for the package's doc.
func ruleRows(t *load.Table) [][]string {
	var head []string
	for _, c := range t.Inputs {
		head = append(head, c.Name)
	}
	for _, c := range t.Outputs {
		head = append(head, "-> "+c.Name)
	}
	rows := [][]string{head}
	for _, r := range t.Rules {
		var row []string
		for i := range t.Inputs {
			row = append(row, cmp.Or(strings.Join(t.WhenNames(r, i), " "), "-"))
		}
		for i := range t.Outputs {
			row = append(row, "-> "+cmp.Or(t.ThenName(r, i), "-"))
		}
		rows = append(rows, row)
	}
	return rows
}

// typeOf names the Go type of a column.
func (e *emitter) typeOf(c *load.Column) *jen.Statement {
	switch {
	case c.Enum == nil:
		return jen.Bool()
	case c.Enum.Spec == e.head.Name:
		return jen.Id(c.Enum.Name)
	}
	return jen.Qual(path.Join(e.opt.ImportPath, c.Enum.Spec), c.Enum.Name)
}

// value names the Go constant of one value of a column.
func (e *emitter) value(c *load.Column, i int) *jen.Statement {
	switch {
	case c.Enum == nil:
		return jen.Lit(i == 1)
	case c.Enum.Spec == e.head.Name:
		return jen.Id(c.Enum.Values[i].Go)
	}
	return jen.Qual(path.Join(e.opt.ImportPath, c.Enum.Spec), c.Enum.Values[i].Go)
}

func (e *emitter) decision(t *load.Table) {
	e.comment("Decision is the answer of the table.")
	e.file.Type().Id("Decision").StructFunc(func(g *jen.Group) {
		for _, c := range t.Outputs {
			doc := c.Doc
			if c.Optional {
				doc += "; zero for none"
			}
			g.Id(c.Go).Add(e.typeOf(c)).Comment(doc)
		}
	})
}

// size is the length of a dimension of the dense array: codes from 0 on.
func size(c *load.Column) int {
	if c.Enum == nil {
		return 2
	}
	return c.Enum.MaxCode() + 1
}

// answers emits one distinct decision after the other, and the dense array that
// says which one each combination has.
func (e *emitter) answers(t *load.Table) {
	index := map[string]int{}
	distinct := []jen.Code{jen.Line().Lit(0).Op(":").Add(e.invalid(t))}
	of := make([]int, e.places(t))
	for i, rule := range t.Answers {
		key, lit := e.answer(t, t.Rules[rule], t.Combination(i))
		if _, known := index[key]; !known {
			index[key] = len(distinct)
			distinct = append(distinct, jen.Line().Lit(index[key]).Op(":").Add(lit))
		}
		of[e.place(t, t.Combination(i))] = index[key]
	}
	e.comment("decisions are the different answers; the first is for inputs that are not valid.")
	e.file.Var().Id("decisions").Op("=").Index(jen.Lit(len(distinct))).Id("Decision").Values(append(distinct, jen.Line())...)
	e.comment("answers is indexed by the codes of the inputs, the last input fastest.")
	e.dense("answers", of, len(distinct))
}

// places is the length of the dense array.
func (e *emitter) places(t *load.Table) int {
	n := 1
	for _, c := range t.Inputs {
		n *= size(c)
	}
	return n
}

// place is the index of a combination of value indexes in the dense array.
func (e *emitter) place(t *load.Table, combination []int) int {
	p := 0
	for i, c := range t.Inputs {
		code := combination[i]
		if c.Enum != nil {
			code = c.Enum.Values[code].Code
		}
		p = p*size(c) + code
	}
	return p
}

// answer is the decision of a rule for a combination, and a key that is equal for
// equal decisions.
func (e *emitter) answer(t *load.Table, r *load.Rule, combination []int) (string, *jen.Statement) {
	var key []string
	lit := jen.ValuesFunc(func(g *jen.Group) {
		for i, c := range t.Outputs {
			o := r.Then[i]
			idx := o.Index
			if o.Keep {
				for k, in := range t.Inputs {
					if in == c.Keep {
						idx = combination[k]
					}
				}
			}
			if o.None {
				key = append(key, "-")
				continue
			}
			key = append(key, c.ValueName(idx))
			g.Id(c.Go).Op(":").Add(e.value(c, idx))
		}
	})
	return strings.Join(key, ","), lit
}

// decide emits the lookup. Inputs outside their enums get the spec's answer for
// what is not valid.
func (e *emitter) decide(t *load.Table) {
	e.comment("Decide answers one combination of inputs. It is total: inputs that are not valid get the answer that the spec gives for them. It never allocates.")
	e.lookup(t, "Decide", jen.Id("Decision"), func(g *jen.Group) {
		g.Id("d").Op(":=").Id("decisions").Index(jen.Lit(0))
		for i, c := range t.Outputs {
			if t.Invalid[i].Keep {
				g.Id("d").Dot(c.Go).Op("=").Id(c.Keep.Param)
			}
		}
		g.Return(jen.Id("d"))
	}, func(at *jen.Statement) *jen.Statement {
		return jen.Id("decisions").Index(jen.Id("answers").Index(at))
	})
}

// lookup emits a function of the inputs: a test of their ranges, then the place
// in a dense array.
func (e *emitter) lookup(t *load.Table, name string, result *jen.Statement, invalid func(*jen.Group), found func(*jen.Statement) *jen.Statement) {
	var params, before []jen.Code
	bad, at := jen.Null(), jen.Null()
	tests := 0
	for i, c := range t.Inputs {
		params = append(params, jen.Id(c.Param).Add(e.typeOf(c)))
		term := jen.Int().Call(jen.Id(c.Param))
		if c.Enum == nil {
			bit := "bit" + c.Go
			before = append(before, jen.Id(bit).Op(":=").Lit(0), jen.If(jen.Id(c.Param)).Block(jen.Id(bit).Op("=").Lit(1)))
			term = jen.Id(bit)
		} else {
			if tests++; tests > 1 {
				bad.Op("||")
			}
			bad.Op("!").Id(c.Param).Dot("IsValid").Call()
		}
		if i == 0 {
			at = term
		} else {
			at = jen.Parens(at).Op("*").Lit(size(c)).Op("+").Add(term)
		}
	}
	e.file.Func().Id(name).Params(params...).Add(result).BlockFunc(func(g *jen.Group) {
		if tests > 0 {
			g.If(bad).BlockFunc(invalid)
		}
		for _, p := range before {
			g.Add(p)
		}
		g.Return(found(at))
	})
}

// reason emits the lookup of the sentence that the spec gives for an answer.
func (e *emitter) reason(t *load.Table) {
	whys, index := []string{""}, map[string]int{"": 0}
	of := make([]int, e.places(t))
	for i, rule := range t.Answers {
		why := t.Rules[rule].Why
		if _, known := index[why]; !known {
			index[why] = len(whys)
			whys = append(whys, why)
		}
		of[e.place(t, t.Combination(i))] = index[why]
	}
	if len(whys) == 1 {
		return
	}
	e.comment("whys are the reasons of the spec; whyOf is indexed like answers.")
	e.file.Var().Id("whys").Op("=").Index(jen.Lit(len(whys))).String().ValuesFunc(func(g *jen.Group) {
		for _, w := range whys {
			g.Line().Lit(w)
		}
		g.Line()
	})
	e.dense("whyOf", of, len(whys))
	e.comment("Reason returns why Decide answers as it does, in the words of the spec; empty where it gives none.")
	e.lookup(t, "Reason", jen.String(), func(g *jen.Group) { g.Return(jen.Lit("")) },
		func(at *jen.Statement) *jen.Statement { return jen.Id("whys").Index(jen.Id("whyOf").Index(at)) })
}

// dense emits an array of small numbers.
func (e *emitter) dense(name string, values []int, limit int) {
	kind := jen.Uint8()
	if limit > 256 {
		kind = jen.Uint16()
	}
	e.file.Var().Id(name).Op("=").Index(jen.Lit(len(values))).Add(kind).ValuesFunc(func(g *jen.Group) {
		for i, k := range values {
			item := g.Null()
			if i%24 == 0 {
				item.Line()
			}
			item.Lit(k)
		}
		g.Line()
	})
}

// invalid is the decision for inputs that are not valid, without what it keeps.
func (e *emitter) invalid(t *load.Table) *jen.Statement {
	return jen.ValuesFunc(func(g *jen.Group) {
		for i, c := range t.Outputs {
			if o := t.Invalid[i]; !o.None && !o.Keep {
				g.Id(c.Go).Op(":").Add(e.value(c, o.Index))
			}
		}
	})
}
