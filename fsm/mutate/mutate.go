// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package mutate makes mutants of machines and decision tables: the text of the spec
// with one cell, or one output of one rule, changed to something else that the language
// allows. A mutant that no test notices shows that a test is missing.
//
// The conditions of rules are left as they are, as the loader itself finds every change
// of them: a table answers each combination of its inputs exactly once. Systems have
// mutants of their own, which check.Mutate makes and judges.
package mutate

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Mutant is one small change of a spec.
type Mutant struct {
	Spec string   // name of the machine or table
	File string   // of the spec
	Pos  load.Pos // where the text differs
	What string   // what was changed, in one line, such as "IN_DOUBT doubt: duplicate becomes reject"
	text []byte
}

// Text returns the whole spec with the change.
func (m Mutant) Text() []byte { return m.text }

// In returns the changed spec, read together with those of the set that it refers to. An
// error means that the loader finds the change.
func (m Mutant) In(set *load.Set) (load.Spec, error) {
	needed := map[string]bool{}
	need(set, m.Spec, needed)
	var sources []*load.Source
	for _, sp := range set.Specs {
		switch src := sp.Header().Source; {
		case sp.Header().Name == m.Spec:
			sources = append(sources, load.NewSource(src.File, m.text))
		case needed[sp.Header().Name]:
			sources = append(sources, src)
		}
	}
	changed, err := load.NewSet(sources...)
	if err != nil {
		return nil, err
	}
	return changed.Lookup(m.Spec), nil
}

// need adds a spec and those that its columns refer to.
func need(set *load.Set, name string, needed map[string]bool) {
	t, ok := set.Lookup(name).(*load.Table)
	if needed[name] = true; !ok {
		return
	}
	for _, c := range slices.Concat(t.Inputs, t.Outputs) {
		if c.Enum != nil && !needed[c.Enum.Spec] {
			need(set, c.Enum.Spec, needed)
		}
	}
}

// Of lists every mutant of a machine or a table, in the order of the file. A system
// has none here.
func Of(sp load.Spec) []Mutant {
	var out []Mutant
	switch sp := sp.(type) {
	case *load.Machine:
		out = machine(sp)
	case *load.Table:
		out = table(sp)
	}
	slices.SortStableFunc(out, func(a, b Mutant) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Col - b.Pos.Col
	})
	return out
}

// machine gives every cell every other answer.
func machine(m *load.Machine) []Mutant {
	var out []Mutant
	answers := []string{}
	for _, r := range []fsm.Result{fsm.Duplicate, fsm.Ignored, fsm.Rejected, fsm.Conflict} {
		answers = append(answers, m.Word(load.Cell{Result: r}))
	}
	for s, row := range m.Cells {
		for e, cell := range row {
			p := place{m.Header(), cell.Pos, m.States[s].Name + " " + m.Events[e].Name, m.Word(cell)}
			for to, other := range m.States {
				if to != s {
					out = p.become(out, other.Name)
				}
			}
			for _, word := range answers {
				out = p.become(out, word)
			}
		}
	}
	return out
}

// table gives every output of every rule, and of inputs that are no values, every other
// value, where it is written.
func table(t *load.Table) []Mutant {
	var out []Mutant
	outputs := func(what string, r *load.Rule) {
		for i, c := range t.Outputs {
			pos, written := t.Written(r, c)
			if !written {
				continue
			}
			p := place{t.Header(), pos, what + ": " + c.Name, t.ThenName(r, i)}
			for v := range c.Size() {
				out = p.become(out, c.ValueName(v))
			}
		}
	}
	for _, r := range t.Rules {
		outputs("rule in line "+strconv.Itoa(r.Pos.Line), r)
	}
	outputs("invalid", t.InvalidRule())
	return out
}

// place is a word of a spec.
type place struct {
	head *load.Head
	pos  load.Pos
	what string
	was  string
}

// become appends the mutant in which the word at p is another one.
func (p place) become(out []Mutant, word string) []Mutant {
	if word == p.was {
		return out
	}
	data := p.head.Source.Data
	from := offset(data, p.pos)
	from += len(data[from:]) - len(bytes.TrimLeft(data[from:], "{ \n\"'"))
	if !bytes.HasPrefix(data[from:], []byte(p.was)) {
		return out // written in a way that the loader reads and this package does not
	}
	text := slices.Concat(data[:from], []byte(word), data[from+len(p.was):])
	return append(out, Mutant{Spec: p.head.Name, File: p.head.Source.File, Pos: p.pos,
		What: fmt.Sprintf("%s: %s becomes %s", p.what, p.was, word), text: text})
}

// offset is where a position stands in a text.
func offset(data []byte, pos load.Pos) int {
	at := 0
	for range pos.Line - 1 {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	for range pos.Col - 1 {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return at
}
