// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/gen/answer"
	"github.com/kvxfer/kvxfer/gen/evidence"
	"github.com/kvxfer/kvxfer/gen/fence"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/statement"
	"github.com/kvxfer/kvxfer/gen/trigger"
	"github.com/kvxfer/kvxfer/spec"
)

// decisions are the generated functions of all tables.
var decisions = map[string]any{
	"answer": answer.Decide, "evidence": evidence.Decide, "fence": fence.Decide, "operation": operation.Decide,
	"report": report.Decide, "statement": statement.Decide, "trigger": trigger.Decide,
}

// TestGeneratedTables asks the generated function of each table for every combination of
// inputs, and holds the answer against the contract's.
func TestGeneratedTables(t *testing.T) {
	set, err := load.FS(spec.Files, "spec")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set.Specs {
		table, ok := s.(*load.Table)
		if !ok {
			continue
		}
		decide, ok := decisions[table.Name]
		if !ok {
			t.Errorf("table %s has no generated function here", table.Name)
			continue
		}
		t.Run(table.Name, func(t *testing.T) {
			for i := range table.Size() {
				in := words{}
				got := asked(t, table, decide, table.Combination(i), in)
				if want := contracts[table.Name].answer(in); !maps.Equal(got, want) {
					t.Errorf("%s: %v, want %v", table.Spell(i), got, want)
				}
			}
		})
	}
}

// asked calls a generated function with a combination, whose words it notes in in.
func asked(t *testing.T, table *load.Table, decide any, combination []int, in words) words {
	t.Helper()
	f := reflect.ValueOf(decide)
	args := make([]reflect.Value, len(combination))
	for k, v := range combination {
		column := table.Inputs[k]
		if column.Enum == nil {
			args[k] = reflect.ValueOf(v == 1)
			in[column.Name] = fmt.Sprint(v == 1)
			continue
		}
		in[column.Name] = column.Enum.Values[v].Name
		p := reflect.New(f.Type().In(k))
		if err := p.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(in[column.Name])); err != nil {
			t.Fatal(err)
		}
		args[k] = p.Elem()
	}
	d := f.Call(args)[0]
	out := words{}
	for _, column := range table.Outputs {
		v := d.FieldByName(column.Go)
		if column.Optional && v.IsZero() {
			continue
		}
		out[column.Name] = fmt.Sprint(v.Interface())
	}
	return out
}
