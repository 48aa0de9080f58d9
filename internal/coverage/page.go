// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// tile is one thing that can be met, as it is drawn.
type tile struct {
	Word, Kind string
	Heat       int // 0: never met, to 4: by all suites
	Title      string
	Dots       []bool // one a suite
}

// Broken is the word, which may be broken after an underscore.
func (t tile) Broken() template.HTML {
	safe := strings.ReplaceAll(template.HTMLEscapeString(t.Word), "→ ", "→&nbsp;")
	return template.HTML(strings.ReplaceAll(safe, "_", "_<wbr>"))
}

// figure is one spec as it is drawn.
type figure struct {
	Name, Kind, Doc string
	Met, All        int
	Columns         []string
	Rows            []row
}

type row struct {
	Name  string
	Tiles []tile
}

type pageData struct {
	Suites  []suiteData
	Totals  []total
	Figures []figure
}

type suiteData struct{ Name, Statements string }

type total struct {
	Name     string
	Met, All int
	Percent  string
}

// html draws the report.
func (r *report) html() []byte {
	var d pageData
	for i, s := range r.suites {
		d.Suites = append(d.Suites, suiteData{s, r.statements[i]})
	}
	sums := map[string]*total{"machine": {Name: "cells of machines"}, "table": {Name: "combinations of tables"}, "system": {Name: "actions and guards of systems"},
		"invariant": {Name: "invariants that a registry can show"}}
	for _, p := range r.parts() {
		f := r.figure(&p)
		sums[p.kind].Met += f.Met
		sums[p.kind].All += f.All
		d.Figures = append(d.Figures, f)
	}
	for _, kind := range []string{"machine", "table", "system", "invariant"} {
		t := *sums[kind]
		t.Percent = fmt.Sprintf("%.4g", 100*float64(t.Met)/float64(max(1, t.All)))
		d.Totals = append(d.Totals, t)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, d); err != nil {
		panic("coverage: page: " + err.Error()) // the template is fixed
	}
	return b.Bytes()
}

func (r *report) figure(p *part) figure {
	f := figure{Name: p.name, Kind: p.kind, Met: r.share(p), All: len(p.keys)}
	if p.kind == "invariant" {
		f.Doc = "Steps that could have broken it, judged by ownership.Checker."
		for i, v := range invariants {
			f.Rows = append(f.Rows, row{Name: v.name, Tiles: []tile{r.tile(p, p.keys[i], v.doc, "")}})
		}
		return f
	}
	spec := r.set.Lookup(p.name)
	f.Doc = spec.Header().Doc
	switch s := spec.(type) {
	case *load.Machine:
		for _, e := range s.Events {
			f.Columns = append(f.Columns, e.Name)
		}
		for i, st := range s.States {
			line := row{Name: st.Name}
			for j, e := range s.Events {
				c := s.Cells[i][j]
				word := s.Word(c)
				if c.Result == fsm.Moved {
					word = "→ " + strings.TrimPrefix(word, "→ ")
				}
				line.Tiles = append(line.Tiles, r.tile(p, p.name+" "+st.Name+" "+e.Name, word, resultOf(c)))
			}
			f.Rows = append(f.Rows, line)
		}
	case *load.Table:
		f.Rows = r.combinations(p, s)
	case *load.System:
		for _, g := range r.guards[p.name] {
			name := strings.ToLower(strings.ReplaceAll(g.action, "_", ""))
			if n := len(f.Rows); n == 0 || strings.ToLower(strings.ReplaceAll(f.Rows[n-1].Name, "_", "")) != name {
				f.Rows = append(f.Rows, row{Name: snake(g.action)})
			}
			last := &f.Rows[len(f.Rows)-1]
			last.Tiles = append(last.Tiles, r.tile(p, g.key, kindWord(g.kind), ""))
		}
	}
	return f
}

// snake is the name of an action in the spec, from that of its method.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// kindWord is the contract's word for a kind of refusal.
func kindWord(kind string) string {
	switch kind {
	case "Contradiction":
		return "conflict"
	case "Misuse":
		return "reject"
	case "InvalidArgument":
		return "invalid"
	}
	return strings.ToLower(kind)
}

// combinations draws a table: a row for each value of the first input.
func (r *report) combinations(p *part, t *load.Table) (rows []row) {
	for i, key := range p.keys {
		name := combination(t, i)[0]
		if len(rows) == 0 || rows[len(rows)-1].Name != name {
			rows = append(rows, row{Name: name})
		}
		last := &rows[len(rows)-1]
		last.Tiles = append(last.Tiles, r.tile(p, key, "", ""))
	}
	return rows
}

func (r *report) tile(p *part, key, word, kind string) tile {
	met := r.by(key)
	t := tile{Word: word, Kind: kind, Dots: make([]bool, len(r.suites))}
	names := []string{}
	for _, i := range met {
		t.Dots[i] = true
		names = append(names, r.suites[i])
	}
	if len(met) > 0 {
		t.Heat = 1 + 3*(len(met)-1)/max(1, len(r.suites)-1)
	}
	t.Title = p.spell[key] + " — "
	if len(names) == 0 {
		t.Title += "never met"
	} else {
		t.Title += strings.Join(names, ", ")
	}
	return t
}
