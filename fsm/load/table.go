// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

// Table is a decision table: every combination of its inputs has exactly one
// rule (the hit policy "unique" of decision tables, with nothing left out).
type Table struct {
	Head
	Enums   []*Enum // that the table defines itself, in the order of the file
	Inputs  []*Column
	Outputs []*Column
	Rules   []*Rule
	Invalid []Out // what inputs outside the enums give, one an output
	// Answers holds the index of the rule of each combination; the last input
	// changes fastest. It has Size entries.
	Answers []int
	invalid *Rule // the source of Invalid
}

// Column is one input or output of a table.
type Column struct {
	Name     string
	Go       string // of the field of the decision
	Param    string // of the parameter
	Doc      string
	Enum     *Enum   // nil for a bool
	Optional bool    // outputs: may be none, the zero value
	Keep     *Column // outputs: the input whose value it has where a rule gives none
	Pos      Pos
	typeRef  string
	keepRef  string
	typePos  Pos
	keepPos  Pos
}

// Size is the number of values of the column.
func (c *Column) Size() int {
	if c.Enum == nil {
		return 2
	}
	return len(c.Enum.Values)
}

// ValueName names the value with this index in the words of the spec.
func (c *Column) ValueName(i int) string {
	if c.Enum == nil {
		return [...]string{"false", "true"}[i]
	}
	return c.Enum.Values[i].Name
}

// Rule answers the combinations that it matches.
type Rule struct {
	When [][]int // for each input the indexes that match; nil matches every one
	Then []Out   // one an output
	Why  string
	Pos  Pos
	when map[string][]valueRef
	then map[string]valueRef
}

// Out is the value of an output: that of the input that it keeps, none, or the
// value with an index.
type Out struct {
	Keep  bool
	None  bool
	Index int
}

// valueRef is a value as it was written, before its column's type is known.
type valueRef struct {
	name string
	pos  Pos
}

// Size is the number of combinations of inputs.
func (t *Table) Size() int {
	n := 1
	for _, c := range t.Inputs {
		n *= c.Size()
	}
	return n
}

// Combination returns the value index of each input in the combination with
// index i, the inverse of the order of Answers.
func (t *Table) Combination(i int) []int {
	out := make([]int, len(t.Inputs))
	for k := len(t.Inputs) - 1; k >= 0; k-- {
		n := t.Inputs[k].Size()
		out[k], i = i%n, i/n
	}
	return out
}

// Spell names the combination with index i in the words of the spec.
func (t *Table) Spell(i int) string { return t.spell(t.Combination(i)) }

// WhenNames lists the values of input i that a rule matches; none for any.
func (t *Table) WhenNames(r *Rule, i int) []string {
	var names []string
	for _, v := range r.When[i] {
		names = append(names, t.Inputs[i].ValueName(v))
	}
	return names
}

// ThenName is the value that a rule gives output i; empty where it is none or
// stays as it is.
func (t *Table) ThenName(r *Rule, i int) string {
	if o := r.Then[i]; !o.Keep && !o.None {
		return t.Outputs[i].ValueName(o.Index)
	}
	return ""
}

// InvalidRule is what the table answers for inputs outside their enums, as a rule that
// matches nothing.
func (t *Table) InvalidRule() *Rule { return t.invalid }

// Written returns where a rule writes the value of an output; ok is false where it says
// nothing of it.
func (t *Table) Written(r *Rule, output *Column) (pos Pos, ok bool) {
	v, ok := r.then[output.Name]
	return v.pos, ok
}
