// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package export writes specs in forms that other programs read.
package export

import (
	"encoding/json"
	"fmt"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Format numbers the shape of the JSON; it grows when a reader could be misled.
const Format = 1

type jsonValue struct {
	Name string `json:"name"`
	Code int    `json:"code"`
	Doc  string `json:"doc"`
}

type jsonState struct {
	jsonValue
	Initial bool     `json:"initial"`
	Final   bool     `json:"final"`
	Tags    []string `json:"tags"`
}

type jsonCell struct {
	State  string `json:"state"`
	Event  string `json:"event"`
	Result string `json:"result"`
	Next   string `json:"next"`
	Reason string `json:"reason,omitempty"`
}

type jsonMachine struct {
	Format int         `json:"format"`
	Kind   string      `json:"kind"`
	Name   string      `json:"name"`
	Doc    string      `json:"doc"`
	SHA256 string      `json:"spec_sha256"`
	States []jsonState `json:"states"`
	Events []jsonValue `json:"events"`
	Cells  []jsonCell  `json:"cells"`
	Never  []jsonNever `json:"never,omitempty"`
}

type jsonNever struct {
	From    []string `json:"from"`
	To      []string `json:"to"`
	Without []string `json:"without"`
	Doc     string   `json:"doc"`
}

type jsonColumn struct {
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Values   []jsonValue `json:"values,omitempty"`
	Optional bool        `json:"optional,omitempty"`
	Doc      string      `json:"doc"`
}

type jsonAnswer struct {
	When   map[string]any `json:"when"`
	Then   map[string]any `json:"then"`
	Reason string         `json:"reason,omitempty"`
}

type jsonTable struct {
	Format  int            `json:"format"`
	Kind    string         `json:"kind"`
	Name    string         `json:"name"`
	Doc     string         `json:"doc"`
	SHA256  string         `json:"spec_sha256"`
	Inputs  []jsonColumn   `json:"inputs"`
	Outputs []jsonColumn   `json:"outputs"`
	Invalid map[string]any `json:"invalid"`
	Answers []jsonAnswer   `json:"answers"`
}

// JSON writes a machine, with every cell, or a table, with every combination, for
// programs in any language. Other kinds are an error.
func JSON(sp load.Spec) ([]byte, error) {
	var v any
	switch sp := sp.(type) {
	case *load.Machine:
		v = machineJSON(sp)
	case *load.Table:
		v = tableJSON(sp)
	default:
		return nil, fmt.Errorf("export: %s: no JSON form for a %v", sp.Header().Name, sp.Header().Kind)
	}
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

func valueJSON(v load.Value) jsonValue { return jsonValue{v.Name, v.Code, v.Doc} }

func machineJSON(m *load.Machine) *jsonMachine {
	out := &jsonMachine{Format: Format, Kind: m.Kind.String(), Name: m.Name, Doc: m.Doc, SHA256: fmt.Sprintf("%x", m.Source.SHA256)}
	for _, s := range m.States {
		out.States = append(out.States, jsonState{valueJSON(s.Value), s.Initial, s.Final, append([]string{}, s.Tags...)})
	}
	for _, e := range m.Events {
		out.Events = append(out.Events, valueJSON(e))
	}
	for i, s := range m.States {
		for j, e := range m.Events {
			c := m.Cells[i][j]
			out.Cells = append(out.Cells, jsonCell{s.Name, e.Name, c.Result.String(), m.States[c.To].Name, c.Why})
		}
	}
	for _, r := range m.Never {
		out.Never = append(out.Never, jsonNever{
			names(m.StateEnum(), r.From), names(m.StateEnum(), r.To), names(m.EventEnum(), r.Without), r.Doc})
	}
	return out
}

// names lists values by their indexes.
func names(e *load.Enum, indexes []int) []string {
	out := []string{}
	for _, i := range indexes {
		out = append(out, e.Values[i].Name)
	}
	return out
}

func tableJSON(t *load.Table) *jsonTable {
	out := &jsonTable{Format: Format, Kind: t.Kind.String(), Name: t.Name, Doc: t.Doc, SHA256: fmt.Sprintf("%x", t.Source.SHA256)}
	for _, c := range t.Inputs {
		out.Inputs = append(out.Inputs, columnJSON(t, c))
	}
	for _, c := range t.Outputs {
		out.Outputs = append(out.Outputs, columnJSON(t, c))
	}
	out.Invalid = map[string]any{}
	for k, c := range t.Outputs {
		if o := t.Invalid[k]; !o.Keep && !o.None {
			out.Invalid[c.Name] = word(c, o.Index)
		}
	}
	for i, rule := range t.Answers {
		a := jsonAnswer{map[string]any{}, map[string]any{}, t.Rules[rule].Why}
		combination := t.Combination(i)
		for k, c := range t.Inputs {
			a.When[c.Name] = word(c, combination[k])
		}
		for k, c := range t.Outputs {
			switch o := t.Rules[rule].Then[k]; {
			case o.None:
				a.Then[c.Name] = nil
			case o.Keep:
				a.Then[c.Name] = a.When[c.Keep.Name]
			default:
				a.Then[c.Name] = word(c, o.Index)
			}
		}
		out.Answers = append(out.Answers, a)
	}
	return out
}

func columnJSON(t *load.Table, c *load.Column) jsonColumn {
	out := jsonColumn{Name: c.Name, Type: "bool", Optional: c.Optional, Doc: c.Doc}
	if c.Enum != nil {
		out.Type = c.Enum.Spec + "." + c.Enum.Name
		for _, v := range c.Enum.Values {
			out.Values = append(out.Values, valueJSON(v))
		}
	}
	return out
}

// word is a value as JSON has it: a name, or true and false.
func word(c *load.Column, i int) any {
	if c.Enum == nil {
		return i == 1
	}
	return c.ValueName(i)
}
