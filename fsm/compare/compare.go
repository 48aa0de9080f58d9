// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package compare says in words how one version of the specs differs from
// another, and whether stable codes broke.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Change is one difference. Breaks says that whoever stored or received a code of
// the old version reads it wrongly with the new one.
type Change struct {
	Spec   string
	Pos    load.Pos // in the new version, where there is one
	Text   string
	Breaks bool
}

// String gives one line, with a mark for what breaks.
func (c Change) String() string {
	if c.Breaks {
		return c.Spec + ": BREAKS CODES: " + c.Text
	}
	return c.Spec + ": " + c.Text
}

// Sets lists the changes from one version of all specs to another.
func Sets(before, after *load.Set) []Change {
	var out []Change
	for _, old := range before.Specs {
		h := old.Header()
		now := after.Lookup(h.Name)
		if now == nil {
			out = append(out, Change{Spec: h.Name, Text: fmt.Sprintf("the %v is gone", h.Kind), Breaks: true})
			continue
		}
		out = append(out, Specs(old, now)...)
	}
	for _, now := range after.Specs {
		if h := now.Header(); before.Lookup(h.Name) == nil {
			out = append(out, Change{Spec: h.Name, Pos: h.Pos, Text: fmt.Sprintf("a new %v", h.Kind)})
		}
	}
	return out
}

// Specs lists the changes from one version of a spec to another.
func Specs(before, after load.Spec) []Change {
	d := &differ{name: after.Header().Name}
	if before.Header().Kind != after.Header().Kind {
		d.add(after.Header().Pos, true, "was a %v, is a %v now", before.Header().Kind, after.Header().Kind)
		return d.out
	}
	switch now := after.(type) {
	case *load.Machine:
		d.machines(before.(*load.Machine), now)
	case *load.Table:
		d.tables(before.(*load.Table), now)
	case *load.System:
		d.systems(before.(*load.System), now)
	}
	return d.out
}

type differ struct {
	name string
	out  []Change
}

func (d *differ) add(pos load.Pos, breaks bool, format string, args ...any) {
	d.out = append(d.out, Change{Spec: d.name, Pos: pos, Text: fmt.Sprintf(format, args...), Breaks: breaks})
}

// values compares names and codes of an enum.
func (d *differ) values(kind string, before, after *load.Enum) {
	for _, old := range before.Values {
		i, ok := after.Lookup(old.Name)
		switch {
		case !ok:
			d.add(load.Pos{}, true, "%s %s (code %d) is gone", kind, old.Name, old.Code)
		case after.Values[i].Code != old.Code:
			d.add(after.Values[i].Pos, true, "%s %s had code %d, has %d now", kind, old.Name, old.Code, after.Values[i].Code)
		}
	}
	for _, now := range after.Values {
		if _, ok := before.Lookup(now.Name); ok {
			continue
		}
		breaks, text := false, fmt.Sprintf("%s %s (code %d) is new", kind, now.Name, now.Code)
		for _, old := range before.Values {
			if old.Code == now.Code {
				breaks = true
				text += ", with the code that was of " + old.Name
			}
		}
		d.add(now.Pos, breaks, "%s", text)
	}
}

func (d *differ) machines(before, after *load.Machine) {
	d.values("state", before.StateEnum(), after.StateEnum())
	d.values("event", before.EventEnum(), after.EventEnum())
	oldStates, oldEvents := before.StateEnum(), before.EventEnum()
	for i, s := range after.States {
		k, ok := oldStates.Lookup(s.Name)
		if !ok {
			continue
		}
		old := before.States[k]
		if s.Initial != old.Initial {
			d.add(s.Pos, false, "state %s: initial was %v, is %v now", s.Name, old.Initial, s.Initial)
		}
		if s.Final != old.Final {
			d.add(s.Pos, false, "state %s: final was %v, is %v now", s.Name, old.Final, s.Final)
		}
		if !slices.Equal(s.Tags, old.Tags) {
			d.add(s.Pos, false, "state %s: tags were [%s], are [%s] now", s.Name, strings.Join(old.Tags, ", "), strings.Join(s.Tags, ", "))
		}
		for j, e := range after.Events {
			if l, ok := oldEvents.Lookup(e.Name); ok {
				d.cells(s.Name+" "+e.Name, spellCell(before, before.Cells[k][l]), spellCell(after, after.Cells[i][j]), after.Cells[i][j].Pos)
			}
		}
	}
	d.nevers(before, after)
}

// nevers compares the rules that the matrices keep.
func (d *differ) nevers(before, after *load.Machine) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, r := range before.Never {
		was[spellNever(before, r)] = true
	}
	for _, r := range after.Never {
		text := spellNever(after, r)
		if is[text] = true; !was[text] {
			d.add(r.Pos, false, "the rule is new: %s", text)
		}
	}
	for _, r := range before.Never {
		if text := spellNever(before, r); !is[text] {
			d.add(load.Pos{}, false, "the rule is gone: %s", text)
		}
	}
}

func spellNever(m *load.Machine, r load.Never) string {
	names := func(indexes []int, name func(int) string) string {
		var all []string
		for _, i := range indexes {
			all = append(all, name(i))
		}
		return strings.Join(all, ", ")
	}
	state := func(i int) string { return m.States[i].Name }
	text := "never from " + names(r.From, state) + " to " + names(r.To, state)
	if len(r.Without) > 0 {
		text += " without " + names(r.Without, func(i int) string { return m.Events[i].Name })
	}
	return text
}

func (d *differ) cells(where, before, after string, pos load.Pos) {
	if before != after {
		d.add(pos, false, "cell %s: was %s, is %s now", where, before, after)
	}
}

func spellCell(m *load.Machine, c load.Cell) string {
	if to := m.States[c.To].Name; c.Result.String() == "moved" {
		return "a move to " + to
	}
	return c.Result.String()
}
