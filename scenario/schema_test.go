// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON turns a YAML document into what a JSON reader would give; all keys are text.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = asJSON(x)
		}
	case map[any]any:
		out := make(map[string]any)
		for k, x := range v {
			b, _ := yaml.Marshal(k)
			out[strings.TrimSpace(string(b))] = asJSON(x)
		}
		return out
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
	}
	return v
}

func schemaSays(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return err
	}
	return s.Validate(asJSON(doc))
}

func TestSchemaTakesTheCorpus(t *testing.T) {
	s := compileSchema(t)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemaSays(t, s, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t)
	step := func(text string) string { return "name: x\nsteps:\n  - " + text + "\n" }
	for _, text := range []string{
		"name: x\n", "steps: []\n", "name: x\nsteps: []\n", "name: x\nextra: 1\nsteps: [{reuse: A}]\n",
		step("{}"), step("jump: A"), step("error: stale"), step("{reuse: A, error: bad}"), step("{session: {id: r1}}"),
		step("{session: {id: r1, side: up}}"), step("{stop: all}"), step("{report: {piece: a, from: b, evidence: yes}}"),
		step("{reuse: A, expect: {colour: red}}"), step("{reuse: A, expect: {piece a: {owners: 1}}}"),
		step("{reuse: A, expect: {outbox 7: [HELLO]}}"),
	} {
		if schemaSays(t, s, []byte(text)) == nil {
			t.Errorf("the schema takes %q", text)
		}
		if _, err := Parse("x.yaml", []byte(text)); err == nil {
			t.Errorf("the loader takes %q", text)
		}
	}
}

var takes = regexp.MustCompile(`unknown key "zzz".*; it takes (.*)`)

// keysOf asks the loader which keys a mapping takes: it says so when there is a
// wrong one.
func keysOf(t *testing.T, text string) []string {
	t.Helper()
	_, err := Parse("x.yaml", []byte(text))
	var list Problems
	errors.As(err, &list)
	for _, p := range list {
		if m := takes.FindStringSubmatch(p.Text); m != nil {
			return strings.Split(m[1], ", ")
		}
	}
	return nil
}

// The schema has the steps, keys and fields that the loader has.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	same := func(what string, loader []string, schema node) {
		if got := slices.Sorted(maps.Keys(schema)); !slices.Equal(got, loader) {
			t.Errorf("%s: the schema has %v, the loader %v", what, got, loader)
		}
	}
	same("steps", slices.Sorted(maps.Keys(readers)), stepSchemas())
	same("config", keysOf(t, "name: x\nconfig: {zzz: 1}\nsteps: [{reuse: A}]\n"), configSchema()["properties"].(node))
	for kind, schema := range stepSchemas() {
		keys := keysOf(t, "name: x\nsteps: [{"+kind+": {zzz: 1}}]\n")
		properties, _ := schema.(node)["properties"].(node)
		if alternatives, ok := schema.(node)["anyOf"].([]node); ok && kind == "fence" {
			properties = alternatives[1]["properties"].(node)
		}
		if keys == nil {
			keys = []string{}
		}
		same("step "+kind, keys, properties)
	}
	patterns := expectSchema()["patternProperties"].(node)
	own := expectSchema()["properties"].(node)
	for kind, at := range map[subjectKind]node{
		subjectPiece: patterns["^piece ."].(node), subjectSession: patterns["^session ."].(node), subjectRegistry: own["registry"].(node),
	} {
		same(subject{kind: kind}.String(), slices.Sorted(maps.Keys(fieldReaders[kind])), at["properties"].(node))
	}
}
