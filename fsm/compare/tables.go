// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// maxAnswers bounds how many changed answers of a table are listed one by one.
const maxAnswers = 20

func (d *differ) tables(before, after *load.Table) {
	for _, old := range before.Enums {
		i := slices.IndexFunc(after.Enums, func(e *load.Enum) bool { return e.Name == old.Name })
		if i < 0 {
			d.add(load.Pos{}, true, "enum %s is gone", old.Name)
			continue
		}
		d.values(old.Name, old, after.Enums[i])
	}
	for _, now := range after.Enums {
		if !slices.ContainsFunc(before.Enums, func(e *load.Enum) bool { return e.Name == now.Name }) {
			d.add(after.Pos, false, "enum %s is new", now.Name)
		}
	}
	if a, b := columns(before), columns(after); a != b {
		d.add(after.Pos, false, "inputs and outputs were %s, are %s now", a, b)
		return
	}
	d.answers(before, after)
}

func columns(t *load.Table) string {
	var parts []string
	for _, c := range t.Inputs {
		parts = append(parts, c.Name)
	}
	parts = append(parts, "→")
	for _, c := range t.Outputs {
		parts = append(parts, c.Name)
	}
	return strings.Join(parts, " ")
}

// answers compares what every combination of both versions gives.
func (d *differ) answers(before, after *load.Table) {
	was := map[string]string{}
	for i := range before.Answers {
		was[before.Spell(i)] = spellAnswer(before, i)
	}
	n := 0
	for i, rule := range after.Answers {
		where, now := after.Spell(i), spellAnswer(after, i)
		if old, ok := was[where]; ok && old != now {
			if n++; n <= maxAnswers {
				d.add(after.Rules[rule].Pos, false, "%s: was %s, is %s now", where, old, now)
			}
		}
	}
	if n > maxAnswers {
		d.add(after.Pos, false, "and %d more answers changed", n-maxAnswers)
	}
}

func spellAnswer(t *load.Table, i int) string {
	var parts []string
	for k, c := range t.Outputs {
		switch o := t.Rules[t.Answers[i]].Then[k]; {
		case o.None:
		case o.Keep:
			parts = append(parts, fmt.Sprintf("%s stays", c.Name))
		default:
			parts = append(parts, c.ValueName(o.Index))
		}
	}
	return strings.Join(parts, ", ")
}
