// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// report is what was met, by suite.
type report struct {
	set        *load.Set
	guards     map[string][]guard
	suites     []string
	met        []map[string]bool // of each suite
	statements []string
}

func newReport(set *load.Set, guards map[string][]guard) *report {
	for name := range guards {
		slices.SortStableFunc(guards[name], func(a, b guard) int {
			return strings.Compare(strings.ToLower(strings.ReplaceAll(a.action, "_", "")), strings.ToLower(strings.ReplaceAll(b.action, "_", "")))
		})
	}
	return &report{set: set, guards: guards}
}

func (r *report) add(suite string, met map[string]bool, statements string) {
	r.suites, r.met, r.statements = append(r.suites, suite), append(r.met, met), append(r.statements, statements)
}

// by returns which suites met a thing.
func (r *report) by(key string) (list []int) {
	for i := range r.suites {
		if r.met[i][key] {
			list = append(list, i)
		}
	}
	return list
}

// part is one spec with what can be met of it.
type part struct {
	name, kind string
	keys       []string
	spell      map[string]string // of a key, for people
}

// parts lists everything that can be met.
func (r *report) parts() (list []part) {
	for _, s := range r.set.Specs {
		p := part{name: s.Header().Name, spell: map[string]string{}}
		switch s := s.(type) {
		case *load.Machine:
			p.kind = "machine"
			for i, st := range s.States {
				for j, e := range s.Events {
					p.put(p.name+" "+st.Name+" "+e.Name, p.name+": "+e.Name+" in "+st.Name+" → "+s.Word(s.Cells[i][j]))
				}
			}
		case *load.Table:
			p.kind = "table"
			for i := range s.Size() {
				p.put(p.name+" "+strings.Join(combination(s, i), " "), p.name+": "+s.Spell(i))
			}
		case *load.System:
			p.kind = "system"
			for _, g := range r.guards[p.name] {
				what := g.action + ": " + g.kind
				if g.reason != "" {
					what += ", " + g.reason
				}
				p.put(g.key, p.name+": "+what)
			}
		}
		list = append(list, p)
	}
	p := part{name: "invariants", kind: "invariant", spell: map[string]string{}}
	for _, v := range invariants {
		p.put("invariants "+v.name, v.name+": "+v.doc)
	}
	return append(list, p)
}

func (p *part) put(key, spelled string) {
	p.keys = append(p.keys, key)
	p.spell[key] = spelled
}

// combination returns the inputs' values of a combination, by name.
func combination(t *load.Table, i int) (names []string) {
	for k, v := range t.Combination(i) {
		if e := t.Inputs[k].Enum; e != nil {
			names = append(names, e.Values[v].Name)
		} else {
			names = append(names, fmt.Sprint(v == 1))
		}
	}
	return names
}

// share counts what of a part all suites met.
func (r *report) share(p *part) (met int) {
	for _, k := range p.keys {
		if len(r.by(k)) > 0 {
			met++
		}
	}
	return met
}

// missing lists what no suite met.
func (r *report) missing() (list []string) {
	for _, p := range r.parts() {
		for _, k := range p.keys {
			if len(r.by(k)) == 0 {
				list = append(list, p.spell[k])
			}
		}
	}
	return list
}

// text is the report in lines: a part a line, with the share of each suite.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %9s", "spec", "all")
	for _, s := range r.suites {
		fmt.Fprintf(&b, " %11s", s)
	}
	b.WriteString("\n")
	for _, p := range r.parts() {
		fmt.Fprintf(&b, "%-22s %9s", p.kind+" "+p.name, fmt.Sprintf("%d/%d", r.share(&p), len(p.keys)))
		for i := range r.suites {
			n := 0
			for _, k := range p.keys {
				if r.met[i][k] {
					n++
				}
			}
			fmt.Fprintf(&b, " %11d", n)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%-22s %9s", "statements of the core", "")
	for _, s := range r.statements {
		fmt.Fprintf(&b, " %11s", s)
	}
	b.WriteString("\n")
	return b.String()
}

// resultOf is the class of a cell's colour.
func resultOf(c load.Cell) string {
	if c.Result == fsm.Moved {
		return "moved"
	}
	return c.Result.String()
}
