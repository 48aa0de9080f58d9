// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// systemPage writes what a reader of a system asks first: what it keeps, what can
// happen and when it is refused, what follows by itself, and what is proved of it.
func systemPage(b *strings.Builder, s *load.System, image string) {
	parts(b, s)
	if image != "" {
		fmt.Fprintf(b, "\n![Which actions of %s ask, change and emit what](%s)\n", s.Name, image)
	}
	b.WriteString("\n## Variables\n\n")
	g := grid{{"variable", "type", "", "meaning"}}
	for _, v := range s.Vars {
		typ, marks := v.Type.Name, []string{}
		if v.Over != nil {
			typ += " for each of " + v.Over.Name
		}
		if v.Hidden {
			marks = append(marks, "hidden")
		}
		if v.Output {
			marks = append(marks, "for the caller")
		}
		if v.InitAny {
			marks = append(marks, "any first value")
		}
		g = append(g, []string{v.Name, typ, strings.Join(marks, ", "), plain(v.Doc)})
	}
	g.mixed(b)
	definitions(b, s)
	for _, kind := range []struct {
		title       string
		environment bool
	}{{"Actions", false}, {"The outside world", true}} {
		actions(b, s, kind.title, kind.environment)
	}
	follows(b, s)
	properties(b, s)
}

func parts(b *strings.Builder, s *load.System) {
	var machines, tables []string
	for _, m := range s.Machines {
		machines = append(machines, fmt.Sprintf("[%s](%s.md)", m.Name, m.Name))
	}
	for _, t := range s.Tables {
		tables = append(tables, fmt.Sprintf("[%s](%s.md)", t.Name, t.Name))
	}
	if len(machines) > 0 {
		fmt.Fprintf(b, "\nMachines: %s.\n", strings.Join(machines, ", "))
	}
	if len(tables) > 0 {
		fmt.Fprintf(b, "\nTables: %s.\n", strings.Join(tables, ", "))
	}
	for _, set := range s.Sets {
		fmt.Fprintf(b, "\nMembers of `%s`, at most %d: %s.\n", set.Name, set.Max, strings.TrimSuffix(set.Doc, "."))
	}
}

func definitions(b *strings.Builder, s *load.System) {
	if len(s.Defs) == 0 {
		return
	}
	b.WriteString("\n## Definitions\n\n")
	g := grid{{"name", "is"}}
	for _, d := range s.Defs {
		var params []string
		for _, p := range d.Params {
			params = append(params, p.Name)
		}
		name := d.Name
		if len(params) > 0 {
			name += "(" + strings.Join(params, ", ") + ")"
		}
		g = append(g, []string{name, code(d.Body.String())})
	}
	g.mixed(b)
}

// plain keeps a sentence from being read as HTML.
func plain(text string) string { return strings.ReplaceAll(text, "<", "&lt;") }

// code marks a text as code in a cell.
func code(text string) string { return "`" + text + "`" }

func actions(b *strings.Builder, s *load.System, title string, environment bool) {
	g := grid{{"action", "happens if", "is refused, the first that applies", "meaning"}}
	for _, a := range s.Actions {
		if a.Environment != environment {
			continue
		}
		var params, when, refusals []string
		for _, p := range a.Params {
			params = append(params, p.Name+" "+p.Type.Name)
		}
		if a.When != nil {
			when = append(when, code(a.When.String()))
		}
		if a.Assume != nil {
			when = append(when, "the outside world: "+code(a.Assume.String()))
		}
		for _, r := range a.Refuse {
			refusals = append(refusals, fmt.Sprintf("**%s**, %s: %s", r.Kind, plain(r.Why), code(r.When.String())))
		}
		g = append(g, []string{a.Name + "(" + strings.Join(params, ", ") + ")", cmp.Or(strings.Join(when, "<br>"), "–"),
			cmp.Or(strings.Join(refusals, "<br>"), "–"), plain(a.Doc)})
	}
	if len(g) > 1 {
		fmt.Fprintf(b, "\n## %s\n\n", title)
		g.mixed(b)
	}
}

func follows(b *strings.Builder, s *load.System) {
	if len(s.Reactions) == 0 {
		return
	}
	b.WriteString("\n## Reactions\n\nAfter every action the first that can fires, until none can.\n\n")
	g := grid{{"reaction", "fires while", "meaning"}}
	for _, r := range s.Reactions {
		g = append(g, []string{r.Name, code(r.When.String()), plain(r.Doc)})
	}
	g.mixed(b)
}

func properties(b *strings.Builder, s *load.System) {
	if len(s.Properties) == 0 {
		return
	}
	b.WriteString("\n## Properties\n\n`fsmgen check` visits every state to prove them.\n\n")
	g := grid{{"property", "kind", "says", "as"}}
	for _, p := range s.Properties {
		kind := map[load.PropertyKind]string{load.OfState: "every state", load.OfStep: "every step", load.Eventually: "at some time"}[p.Kind]
		if p.Kind == load.AfterEvent && p.Action != nil {
			kind = "after " + p.Action.Name
		}
		if p.Refuted {
			kind += ", known not to hold"
		}
		text := code(p.Then.String())
		if p.From != nil {
			text = "where " + code(p.From.String()) + ": " + text
		}
		g = append(g, []string{p.Name, kind, plain(p.Doc), text})
	}
	g.mixed(b)
}

// mixed writes a table whose cells hold code and line breaks: only the bars in them
// are escaped, as a code span shows everything else as it is.
func (g grid) mixed(b *strings.Builder) {
	for i, row := range g {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", "\\|") + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}
