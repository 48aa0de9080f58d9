// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Page writes a Markdown page about a spec: what it is, its picture (image is the
// file to show, empty for none), its names with their codes, its matrix or rules
// with the reasons.
func Page(sp load.Spec, specFile, image string) []byte {
	var b strings.Builder
	h := sp.Header()
	fmt.Fprintf(&b, "# %s\n\n%s\n\nSource: `%s`. A %s.\n", h.Name, h.Doc, specFile, map[load.Kind]string{
		load.KindMachine: "state machine", load.KindTable: "decision table", load.KindSystem: "system"}[h.Kind])
	switch sp := sp.(type) {
	case *load.Machine:
		machinePage(&b, sp, image)
	case *load.Table:
		tablePage(&b, sp)
	case *load.System:
		systemPage(&b, sp, image)
	}
	return []byte(b.String())
}

func machinePage(b *strings.Builder, m *load.Machine, image string) {
	if image != "" {
		fmt.Fprintf(b, "\n![State diagram of %s](%s)\n", m.Name, image)
	}
	b.WriteString("\n## States\n\n")
	g := grid{{"state", "code", "", "meaning"}}
	for _, s := range m.States {
		marks := slices.Clone(s.Tags)
		if s.Final {
			marks = slices.Insert(marks, 0, "final")
		}
		if s.Initial {
			marks = slices.Insert(marks, 0, "initial")
		}
		g = append(g, []string{s.Name, fmt.Sprint(s.Code), strings.Join(marks, ", "), s.Doc})
	}
	g.markdown(b)
	b.WriteString("\n## Events\n\n")
	values(m.Events, "event").markdown(b)
	b.WriteString("\n## Matrix\n\nA name in bold is a move. `duplicate`: already so. `ignore`: carries no proof, changes nothing. " +
		"`reject`: the caller's mistake. `conflict`: contradictory evidence.\n\n")
	b.Write(Matrix(m))
	nevers(b, m)
	reasons(b, m)
}

// nevers lists the rules that the matrix keeps.
func nevers(b *strings.Builder, m *load.Machine) {
	if len(m.Never) == 0 {
		return
	}
	b.WriteString("\n## Never\n\nNo path leads from the states on the left to those on the right, but over the events named. Loading the spec proves it.\n\n")
	g := grid{{"from", "to", "but over", "because"}}
	names := func(indexes []int, name func(int) string) string {
		var all []string
		for _, i := range indexes {
			all = append(all, name(i))
		}
		return cmp.Or(strings.Join(all, ", "), "–")
	}
	state := func(i int) string { return m.States[i].Name }
	for _, r := range m.Never {
		g = append(g, []string{names(r.From, state), names(r.To, state), names(r.Without, func(i int) string { return m.Events[i].Name }), r.Doc})
	}
	g.markdown(b)
}

func values(vs []load.Value, kind string) grid {
	g := grid{{kind, "code", "meaning"}}
	for _, v := range vs {
		g = append(g, []string{v.Name, fmt.Sprint(v.Code), v.Doc})
	}
	return g
}

// reasons lists why cells are as they are, where the spec says so.
func reasons(b *strings.Builder, m *load.Machine) {
	g := grid{{"state", "event", "answer", "because"}}
	for i, s := range m.States {
		for j, e := range m.Events {
			if c := m.Cells[i][j]; c.Why != "" {
				g = append(g, []string{s.Name, e.Name, m.Word(c), c.Why})
			}
		}
	}
	if len(g) > 1 {
		b.WriteString("\n## Reasons\n\n")
		g.markdown(b)
	}
}

func tablePage(b *strings.Builder, t *load.Table) {
	b.WriteString("\n## Inputs and outputs\n\n")
	g := grid{{"", "name", "type", "meaning"}}
	row := func(kind string, c *load.Column) {
		typ := "bool"
		if c.Enum != nil {
			typ = c.Enum.Name
			if c.Enum.Spec != t.Name {
				typ = c.Enum.Spec + "." + typ
			}
		}
		doc := c.Doc
		if c.Keep != nil {
			doc += "; stays as it is where a rule has a dash"
		}
		g = append(g, []string{kind, c.Name, typ, doc})
	}
	for _, c := range t.Inputs {
		row("input", c)
	}
	for _, c := range t.Outputs {
		row("output", c)
	}
	g.markdown(b)
	for _, e := range t.Enums {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n", e.Name, e.Doc)
		values(e.Values, "value").markdown(b)
	}
	b.WriteString("\n## Rules\n\nEvery combination of inputs matches exactly one rule. A dash stands for any input, for no output, and for an output that stays.\n\n")
	b.Write(Matrix(t))
}
