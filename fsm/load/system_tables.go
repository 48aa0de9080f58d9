// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import "github.com/kvxfer/kvxfer/fsm/expr"

// readTables makes decision tables callable: the output o of the table t is
// t.o(input, …), and its enums are the types t.Name.
func (sr *systemReader) readTables(set *Set) {
	if sr.f["tables"] == nil {
		return
	}
	for _, n := range sr.list(sr.f["tables"], "tables") {
		name, ok := sr.name(n, "table", lowerName, "operation")
		if !ok || !sr.take(n, "table", name) {
			continue
		}
		t, ok := set.Lookup(name).(*Table)
		if !ok {
			sr.errorf(n, "tables: no table %s among the specs read", name)
			continue
		}
		for _, e := range t.Enums {
			sr.enumType(e)
		}
		if len(t.Answers) == t.Size() { // otherwise the table has mistakes of its own
			sr.sys.Tables = append(sr.sys.Tables, t)
			sr.scope.Tables[name] = sr.exprTable(t)
		}
	}
}

// exprTable is the table in the form that the expression language knows.
func (sr *systemReader) exprTable(t *Table) *expr.Table {
	et := &expr.Table{Name: t.Name}
	for _, c := range t.Inputs {
		et.Inputs = append(et.Inputs, &expr.Local{Name: c.Name, Type: sr.enumType(c.Enum)})
	}
	for k, c := range t.Outputs {
		out := &expr.Output{Table: t.Name, Name: c.Name, Type: sr.enumType(c.Enum), Answers: make([]int, len(t.Answers))}
		for i, rule := range t.Answers {
			out.Answers[i] = t.answered(t.Rules[rule].Then[k], c, i)
		}
		et.Outputs = append(et.Outputs, out)
	}
	return et
}

// answered is the index of an output's value in one combination, -1 for none.
func (t *Table) answered(o Out, c *Column, combination int) int {
	switch {
	case o.None:
		return -1
	case o.Keep:
		for k, in := range t.Inputs {
			if in == c.Keep {
				return t.Combination(combination)[k]
			}
		}
	}
	return o.Index
}

// enumType is the type of an enum of another spec; the types of machines are those
// that the system's variables have.
func (sr *systemReader) enumType(e *Enum) *expr.Type {
	if e == nil {
		return expr.BoolType
	}
	if m := sr.machines[e.Spec]; m != nil {
		if e.Name == "State" {
			return m.State
		}
		return m.Event
	}
	name := e.Spec + "." + e.Name
	if t := sr.types[name]; t != nil {
		return t
	}
	t := &expr.Type{Kind: expr.Enum, Name: name}
	for _, v := range e.Values {
		t.Values = append(t.Values, v.Name)
	}
	sr.types[name] = t
	return t
}
