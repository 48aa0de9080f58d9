// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// results are all results, and resultNames the runtime's Go names of them.
var (
	results     = []fsm.Result{fsm.Moved, fsm.Duplicate, fsm.Ignored, fsm.Rejected, fsm.Conflict}
	resultNames = map[fsm.Result]string{
		fsm.Moved: "Moved", fsm.Duplicate: "Duplicate", fsm.Ignored: "Ignored", fsm.Rejected: "Rejected", fsm.Conflict: "Conflict",
	}
)

// cellName is the constant of a result inside the table.
func cellName(r fsm.Result) string { return "cell" + resultNames[r] }

// byCode finds the index of the value with a code.
func byCode(en *load.Enum) map[int]int {
	out := map[int]int{}
	for i, v := range en.Values {
		out[v.Code] = i
	}
	return out
}

// cells emits the dense table: a row for each state code, padded to powers of two.
func (e *emitter) cells(m *load.Machine) {
	e.comment("cell is one entry of the table: the state afterwards, and the result from bit 8 on.")
	e.file.Type().Id("cell").Uint16()
	e.file.Const().DefsFunc(func(g *jen.Group) {
		for _, r := range results {
			g.Id(cellName(r)).Op("=").Id("cell").Call(e.qual(resultNames[r])).Op("<<").Lit(8)
		}
	})
	rows, _ := padded(m.StateEnum().MaxCode())
	cols, _ := padded(m.EventEnum().MaxCode())
	states := byCode(m.StateEnum())
	e.comment("table is indexed by the codes of state and event, padded to powers of two; where there is no state or no event, it rejects.")
	e.file.Var().Id("table").Op("=").Index(jen.Lit(rows)).Index(jen.Lit(cols)).Id("cell").ValuesFunc(func(g *jen.Group) {
		for code := range rows {
			if i, known := states[code]; known {
				g.Line().Id(m.States[i].Go).Op(":").ValuesFunc(func(r *jen.Group) { stateRow(r, m, i, cols) })
			} else {
				g.Line().Lit(code).Op(":").ValuesFunc(func(r *jen.Group) { emptyRow(r, code, cols) })
			}
		}
		g.Line()
	})
}

// stateRow emits the cells of a state, a line for each event.
func stateRow(r *jen.Group, m *load.Machine, state, cols int) {
	events, wasEvent := byCode(m.EventEnum()), false
	for code := range cols {
		j, event := events[code]
		if event {
			c := m.Cells[state][j]
			r.Line().Id(m.Events[j].Go).Op(":").Id(cellName(c.Result)).Op("|").Id("cell").Call(jen.Id(m.States[c.To].Go))
		} else {
			padding(r, m.States[state].Code, wasEvent || code%8 == 0)
		}
		wasEvent = event
	}
	r.Line()
}

// emptyRow emits the row of a code that is no state.
func emptyRow(r *jen.Group, state, cols int) {
	for code := range cols {
		padding(r, state, code%8 == 0)
	}
	r.Line()
}

// padding emits a cell for a code that is no event, or a state that is none.
func padding(r *jen.Group, state int, newLine bool) {
	cell := r.Null()
	if newLine {
		cell.Line()
	}
	cell.Id(cellName(fsm.Rejected))
	if state != 0 {
		cell.Op("|").Lit(state)
	}
}

// next emits the step: one test covers both ranges, and masks cover the bounds.
func (e *emitter) next(m *load.Machine) {
	rows, rowShift := padded(m.StateEnum().MaxCode())
	cols, colShift := padded(m.EventEnum().MaxCode())
	e.comment("Next returns the state after e in s and what e did; the state is s unless the result is moved. It is total: a state or an event that is not valid is rejected. It never allocates.")
	e.file.Func().Id("Next").Params(jen.Id("s").Id("State"), jen.Id("e").Id("Event")).Params(jen.Id("State"), e.qual("Result")).BlockFunc(func(g *jen.Group) {
		if test := outside(rows, rowShift, cols, colShift); test != nil {
			g.If(test).Block(jen.Return(jen.Id("s"), e.qual("Rejected")))
		}
		g.Id("c").Op(":=").Id("table").Index(mask("s", rows)).Index(mask("e", cols))
		g.Return(jen.Id("State").Call(jen.Id("c")), e.qual("Result").Call(jen.Id("c").Op(">>").Lit(8)))
	})
}

// outside tests whether a code lies beyond the table; nil where none can.
func outside(rows, rowShift, cols, colShift int) *jen.Statement {
	switch {
	case rowShift >= 8 && colShift >= 8:
		return nil
	case rowShift >= 8:
		return jen.Id("e").Op(">=").Lit(cols)
	case colShift >= 8:
		return jen.Id("s").Op(">=").Lit(rows)
	}
	return jen.Uint8().Call(jen.Id("s")).Op(">>").Lit(rowShift).Op("|").Uint8().Call(jen.Id("e")).Op(">>").Lit(colShift).Op("!=").Lit(0)
}

// mask keeps an index inside a dimension, which frees the compiler from testing it.
func mask(id string, size int) *jen.Statement {
	if size >= 256 {
		return jen.Id(id)
	}
	return jen.Id(id).Op("&").Lit(size - 1)
}
