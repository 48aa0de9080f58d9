// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/export"
	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
)

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(export.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("spec.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value turns YAML into what a validator sees; keys are texts, as they are for the
// loader.
func value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return value(n.Content[0])
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = value(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		l := []any{}
		for _, c := range n.Content {
			l = append(l, value(c))
		}
		return l
	}
	switch n.Tag {
	case "!!int":
		if i, err := strconv.Atoi(n.Value); err == nil {
			return i
		}
	case "!!bool":
		return n.Value == "true" || n.Value == "TRUE"
	case "!!null":
		return nil
	}
	return n.Value
}

func validate(t *testing.T, s *jsonschema.Schema, file string) error {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil || n.Kind == 0 {
		return err
	}
	return s.Validate(value(&n))
}

// TestSchemaAccepts: what the loader accepts, the schema accepts.
func TestSchemaAccepts(t *testing.T) {
	s := compile(t)
	for _, pattern := range []string{"../../spec/*.yaml", "../load/testdata/ok/*.yaml", "../check/testdata/*/*.yaml", "../load/testdata/system/*.yaml", "../codegen/testdata/system/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if err := validate(t, s, file); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// beyond lists the bad specs that a schema cannot see: what repeats or belongs
// together, and what YAML itself hides.
var beyond = []string{
	"alias", "anchor", "colliding_generated", "colliding_state_event", "control_character", "empty_file", "func", "internal", "string",
	"kind_not_first", "merge_key", "missing_cell", "missing_row", "move_to_self", "no_initial", "only_comments", "repeated_cell",
	"repeated_code", "repeated_event", "repeated_event_code", "repeated_key", "repeated_row", "repeated_state", "tab_indent", "tag_is_method",
	"tag_trap", "two_documents", "two_initial", "unknown_event", "unknown_row", "unknown_target", "wrong_name", "yaml_syntax", "yaml_tag",
	"event_is_cell_word", "empty_cell", "colliding_by_case", "colliding_tags", "colliding_event_with_code", "never_broken", "never_broken_without", "never_unknown", "key_is_list", "deep_nesting",
}

// TestSchemaRefuses: of the bad specs, the schema refuses all that it can see.
func TestSchemaRefuses(t *testing.T) {
	s := compile(t)
	files, err := filepath.Glob("../load/testdata/static_error/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if slices.Contains(beyond, name) || strings.HasPrefix(name, "table_") || strings.HasPrefix(name, "system_") {
			continue
		}
		if err := validate(t, s, file); err == nil {
			t.Errorf("%s passes the schema", name)
		}
	}
}

// TestJSONMachine: the export says what the generated code does.
func TestJSONMachine(t *testing.T) {
	var m struct {
		Format int
		Cells  []struct {
			State  claim.State
			Event  claim.Event
			Result string
			Next   claim.State
		}
		Never []struct {
			From, To []claim.State
			Without  []claim.Event
		}
	}
	read(t, "claim", &m)
	for _, r := range m.Never {
		for _, from := range r.From {
			for _, e := range claim.AllEvents() {
				if next, res := claim.Next(from, e); res == fsm.Moved && slices.Contains(r.To, next) && !slices.Contains(r.Without, e) {
					t.Errorf("%v %v %v breaks a rule of the export", from, e, next)
				}
			}
		}
	}
	if len(m.Never) == 0 {
		t.Error("the export has no rules")
	}
	if m.Format != export.Format || len(m.Cells) != len(claim.AllStates())*len(claim.AllEvents()) {
		t.Errorf("format %d, %d cells", m.Format, len(m.Cells))
	}
	for _, c := range m.Cells {
		if next, res := claim.Next(c.State, c.Event); next != c.Next || res.String() != c.Result {
			t.Errorf("%v %v: code gives %v %v, the export %v %s", c.State, c.Event, next, res, c.Next, c.Result)
		}
	}
}

// TestJSONTable: so for every combination of a table.
func TestJSONTable(t *testing.T) {
	var table struct {
		Answers []struct {
			When struct {
				Status operation.Status
				Claim  claim.State
				Phase  operation.Phase
				Active bool
			}
			Then struct {
				Action operation.Action
				Event  *claim.Event
				Phase  operation.Phase
			}
			Reason string
		}
	}
	read(t, "operation", &table)
	if len(table.Answers) != 11*6*4*2 {
		t.Errorf("%d answers", len(table.Answers))
	}
	for _, a := range table.Answers {
		want := operation.Decision{Action: a.Then.Action, Phase: a.Then.Phase}
		if a.Then.Event != nil {
			want.Event = *a.Then.Event
		}
		w := a.When
		if got := operation.Decide(w.Status, w.Claim, w.Phase, w.Active); got != want {
			t.Errorf("%+v: code gives %v, the export %v", w, got, want)
		}
		if got := operation.Reason(w.Status, w.Claim, w.Phase, w.Active); got != a.Reason {
			t.Errorf("%+v: code says %q, the export %q", w, got, a.Reason)
		}
	}
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	data, err := export.JSON(set.Lookup(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
