// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"strings"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// grid is a table of texts, its first row the heads.
type grid [][]string

// matrixOf lays a machine's cells out, a row for each state. Moves are bold.
func matrixOf(m *load.Machine, bold func(string) string) grid {
	g := grid{{"state \\ event"}}
	for _, e := range m.Events {
		g[0] = append(g[0], e.Name)
	}
	for i, s := range m.States {
		row := []string{s.Name}
		for _, c := range m.Cells[i] {
			w := m.Word(c)
			if c.Result == fsm.Moved {
				w = bold(w)
			}
			row = append(row, w)
		}
		g = append(g, row)
	}
	return g
}

// rulesOf lays the rules of a decision table out. A dash stands for any input, for
// an output that is none, and for one that stays.
func rulesOf(t *load.Table) grid {
	var head []string
	for _, c := range t.Inputs {
		head = append(head, c.Name)
	}
	for _, c := range t.Outputs {
		head = append(head, "→ "+c.Name)
	}
	g := grid{append(head, "why")}
	for _, r := range t.Rules {
		var row []string
		for i := range t.Inputs {
			row = append(row, cmp.Or(strings.Join(t.WhenNames(r, i), ", "), "–"))
		}
		for i := range t.Outputs {
			row = append(row, cmp.Or(t.ThenName(r, i), "–"))
		}
		g = append(g, append(row, r.Why))
	}
	return g
}

var cellEscaper = strings.NewReplacer("|", "\\|", "<", "&lt;")

// markdown writes a grid as a Markdown table.
func (g grid) markdown(b *strings.Builder) {
	for i, row := range g {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + cellEscaper.Replace(cell) + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

// Matrix writes the matrix of a machine, or the rules of a table, as Markdown.
func Matrix(sp load.Spec) []byte {
	var b strings.Builder
	switch sp := sp.(type) {
	case *load.Machine:
		matrixOf(sp, func(s string) string { return "**" + s + "**" }).markdown(&b)
	case *load.Table:
		rulesOf(sp).markdown(&b)
	}
	return []byte(b.String())
}
