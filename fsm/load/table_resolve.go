// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strconv"
	"strings"
)

// maxCombinations bounds a table: it is generated as a dense array.
const maxCombinations = 1 << 16

// maxShown bounds how many combinations one message names.
const maxShown = 3

// resolve settles types, values and answers. Each step needs the one before.
func (t *Table) resolve(set *Set, r *reader) {
	before := len(*r.errs)
	for _, c := range slices.Concat(t.Inputs, t.Outputs) {
		t.resolveType(set, r, c)
	}
	if len(*r.errs) > before {
		return
	}
	for _, c := range t.Outputs {
		t.resolveKeep(r, c)
	}
	size := 1
	for _, c := range t.Inputs {
		if size *= c.Size(); size > maxCombinations {
			r.errs.Add(r.file, c.Pos, "inputs have more than %d combinations", maxCombinations)
			return
		}
	}
	for _, rule := range t.Rules {
		t.resolveRule(r, rule)
	}
	if t.invalid != nil {
		t.resolveRule(r, t.invalid)
		t.Invalid = t.invalid.Then
	}
	if len(*r.errs) == before && len(t.Rules) > 0 {
		t.answer(r)
	}
}

func (t *Table) resolveType(set *Set, r *reader, c *Column) {
	if c.typeRef == "bool" || c.typeRef == "" {
		return
	}
	owner, name, other := strings.Cut(c.typeRef, ".")
	var known []*Enum
	if !other {
		name, known = owner, t.Enums
	} else {
		sp := set.Lookup(owner)
		if sp == nil {
			r.errs.Add(r.file, c.typePos, "type %s: no spec %s beside this one", c.typeRef, owner)
			return
		}
		known = enumsOf(sp)
	}
	var names []string
	for _, e := range known {
		if e.Name == name {
			c.Enum = e
			return
		}
		names = append(names, e.Name)
	}
	if !other {
		names = append(names, "bool")
	}
	r.errs.Add(r.file, c.typePos, "unknown type %s; expected one of %s, or SPEC.TYPE", c.typeRef, strings.Join(names, ", "))
}

// enumsOf lists the enums that a spec offers to others.
func enumsOf(sp Spec) []*Enum {
	switch sp := sp.(type) {
	case *Machine:
		return []*Enum{sp.StateEnum(), sp.EventEnum()}
	case *Table:
		return sp.Enums
	}
	return nil
}

func (t *Table) resolveKeep(r *reader, c *Column) {
	if c.keepRef == "" {
		return
	}
	i := slices.IndexFunc(t.Inputs, func(in *Column) bool { return in.Name == c.keepRef })
	switch {
	case i < 0:
		r.errs.Add(r.file, c.keepPos, "output %s: keep: unknown input %s", c.Name, c.keepRef)
	case t.Inputs[i].typeRef != c.typeRef:
		r.errs.Add(r.file, c.keepPos, "output %s: keep: input %s has type %s, expected %s", c.Name, c.keepRef, t.Inputs[i].typeRef, c.typeRef)
	default:
		c.Keep = t.Inputs[i]
	}
}

// value finds a written value in its column.
func (r *reader) value(c *Column, v valueRef) int {
	for i := range c.Size() {
		if c.ValueName(i) == v.name {
			return i
		}
	}
	names := "false, true"
	if c.Enum != nil {
		names = c.Enum.names()
	}
	r.errs.Add(r.file, v.pos, "%s: unknown value %q; expected one of %s", c.Name, v.name, names)
	return 0
}

func (t *Table) resolveRule(r *reader, rule *Rule) {
	rule.When = make([][]int, len(t.Inputs))
	for i, c := range t.Inputs {
		for _, ref := range rule.when[c.Name] {
			v := r.value(c, ref)
			if slices.Contains(rule.When[i], v) {
				r.errs.Add(r.file, ref.pos, "%s: value %s is given twice", c.Name, ref.name)
				continue
			}
			rule.When[i] = append(rule.When[i], v)
		}
	}
	rule.Then = make([]Out, len(t.Outputs))
	for i, c := range t.Outputs {
		ref, given := rule.then[c.Name]
		switch {
		case given:
			rule.Then[i] = Out{Index: r.value(c, ref)}
		case c.Keep != nil:
			rule.Then[i] = Out{Keep: true}
		case c.Optional:
			rule.Then[i] = Out{None: true}
		default:
			r.errs.Add(r.file, rule.Pos, "rule: output %s is missing", c.Name)
		}
	}
}

func (rule *Rule) matches(combination []int) bool {
	for i, allowed := range rule.When {
		if allowed != nil && !slices.Contains(allowed, combination[i]) {
			return false
		}
	}
	return true
}

// answer fills Answers, and refuses gaps and overlaps.
func (t *Table) answer(r *reader) {
	t.Answers = make([]int, t.Size())
	overlaps := map[[2]int][]string{}
	var order [][2]int
	var gaps []string
	for i := range t.Answers {
		combination := t.Combination(i)
		found := -1
		for k, rule := range t.Rules {
			if !rule.matches(combination) {
				continue
			}
			if found < 0 {
				found = k
				continue
			}
			pair := [2]int{found, k}
			if overlaps[pair] == nil {
				order = append(order, pair)
			}
			overlaps[pair] = append(overlaps[pair], t.spell(combination))
		}
		if found < 0 {
			gaps = append(gaps, t.spell(combination))
		}
		t.Answers[i] = found
	}
	if len(gaps) > 0 {
		r.errs.Add(r.file, t.Pos, "no rule for %s", some(gaps))
	}
	for _, p := range order {
		r.errs.Add(r.file, t.Rules[p[1]].Pos, "rule overlaps the one of line %d: both match %s", t.Rules[p[0]].Pos.Line, some(overlaps[p]))
	}
}

// spell names a combination in the words of the spec.
func (t *Table) spell(combination []int) string {
	var parts []string
	for i, c := range t.Inputs {
		parts = append(parts, c.Name+" "+c.ValueName(combination[i]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// some names the first few of many.
func some(all []string) string {
	if len(all) <= maxShown {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:maxShown], ", ") + " and " + strconv.Itoa(len(all)-maxShown) + " more"
}
