// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/trace"
	"github.com/kvxfer/kvxfer/trace/mapping"
)

const data = "../testdata"

func load(t *testing.T, name string) *mapping.Mapping {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := mapping.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func check(t *testing.T, m *mapping.Mapping, text string) *trace.Report {
	t.Helper()
	src, err := m.Source(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.Check("log", src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExamples checks the worked examples: who frees at a cancel is found, at the line.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		mapping, log string
		line         int
		rule         string
	}{
		{"engine.yaml", "engine-wrong.log", 10, "I1"},
		{"engine.yaml", "engine-right.log", 0, ""},
		{"spans.yaml", "spans.json", 35, "I1"},
	} {
		text, err := os.ReadFile(filepath.Join(data, c.log))
		if err != nil {
			t.Fatal(err)
		}
		r := check(t, load(t, c.mapping), string(text))
		switch {
		case r.Unmatched != 0 && strings.HasSuffix(c.log, ".log"):
			t.Errorf("%s: %d lines unmatched", c.log, r.Unmatched)
		case c.rule == "" && r.Found() > 0:
			t.Errorf("%s: %+v", c.log, r.Findings)
		case c.rule != "" && (r.Found() != 1 || r.Findings[0].Line != c.line || r.Findings[0].Rule != c.rule):
			t.Errorf("%s: %+v, want %s in line %d", c.log, r.Findings, c.rule, c.line)
		}
	}
}

const words = `
engine: e
format: lines
rules:
  - line: '^own (?P<s>\w+) (?P<r>\w+)$'
    records: [piece: {session: "{s}", region: "{r}"}]
  - line: '^(?P<event>publish|done_ok|done_failed|doubt|settle|fence|withdraw) (?P<s>\w+) (?P<a>\w+)$'
    records: [claim: {session: "{s}", accessor: "{a}", event: "{event}"}]
  - line: '^(?P<how>SUCCEEDED|FAILED|CANCELLED) (?P<s>\w+)$'
    records: [session_ended: {session: "{s}", outcome: "{how}"}]
  - line: '^free (?P<s>\w+)$'
    records: [released: {session: "{s}"}]
  - line: '^close (?P<s>\w+)$'
    records: [session_closed: {session: "{s}"}]
  - line: '^reuse (?P<r>\w+)$'
    records: [reuse: {region: "{r}"}]
`

// TestEngines are logs of a word a line, with the rule that finds what is wrong with each.
func TestEngines(t *testing.T) {
	m, err := mapping.Parse("words", []byte(words))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, log, rule string }{
		{"success", "own a R,publish a w,done_ok a w,SUCCEEDED a,free a", ""},
		{"cancel, then the end, then free", "own a R,publish a w,CANCELLED a,done_ok a w,free a,own b R", ""},
		{"doubt and late proof", "own a R,publish a w,doubt a w,FAILED a,settle a w,free a", ""},
		{"a fence", "own a R,publish a w,CANCELLED a,fence a w,free a", ""},
		{"what comes after the release is stale", "own a R,publish a w,done_ok a w,free a,done_ok a w", ""},
		{"told twice", "own a R,own a R,publish a w,publish a w,done_ok a w,done_ok a w,CANCELLED a,CANCELLED a,free a", ""},
		{"early release", "own a R,publish a w,free a", "I1"},
		{"release in doubt", "own a R,publish a w,doubt a w,free a", "I1"},
		{"closed in flight", "own a R,publish a w,close a", "I1"},
		{"reuse in flight", "own a R,publish a w,CANCELLED a,reuse R", "I1"},
		{"reuse before the release", "own a R,publish a w,done_ok a w,reuse R", "I12"},
		{"a second owner", "own a R,publish a w,CANCELLED a,own b R", "I12"},
		{"second release", "own a R,publish a w,done_ok a w,free a,free a", "I8"},
		{"published after the release", "own a R,publish a w,done_ok a w,free a,publish a w", "I8"},
		{"published after a cancel", "own a R,CANCELLED a,publish a w", "I2"},
		{"another answer", "own a R,publish a w,FAILED a,done_ok a w,SUCCEEDED a", "I3"},
		{"success without proof", "own a R,publish a w,SUCCEEDED a", "I4"},
		{"success in doubt", "own a R,publish a w,doubt a w,SUCCEEDED a", "I4"},
		{"success by a settlement", "own a R,publish a w,doubt a w,settle a w,SUCCEEDED a", "I5"},
		{"a success of one of two", "own a R,publish a w,publish a x,done_ok a w,SUCCEEDED a", "I4"},
		{"a failure that is a success", "own a R,publish a w,done_failed a w,SUCCEEDED a", "I4"},
		{"withdrawn in flight", "own a R,publish a w,withdraw a w", "claim"},
		{"a result without a publication", "own a R,done_ok a w", "claim"},
		{"done after a doubt", "own a R,publish a w,doubt a w,done_ok a w", "claim"},
		{"failed and ok", "own a R,publish a w,done_failed a w,done_ok a w", "verdict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := check(t, m, strings.ReplaceAll(c.log, ",", "\n"))
			switch {
			case c.rule == "" && r.Found() > 0:
				t.Errorf("%+v", r.Findings)
			case c.rule != "" && (r.Found() == 0 || r.Findings[0].Rule != c.rule):
				t.Errorf("%+v, want %s", r.Findings, c.rule)
			case c.rule != "" && r.Findings[0].Line != strings.Count(c.log, ",")+1:
				t.Errorf("line %d, want the last", r.Findings[0].Line)
			}
		})
	}
}

// TestMistakes are wrong mappings, with the places of all mistakes.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "m:1:1: the file is empty"},
		{"a: [", "m:1:1: did not find expected node content"},
		{"engine: e\nformat: lines", `m:1:1: a mapping needs "rules"`},
		{"engine: e\nformat: syslog\nrules: []", `m:2:9: format is lines or otlp, not "syslog"`},
		{"engine: e\nformat: lines\nrules: []", "m:3:8: rules must be a list of rules"},
		{"engine: e\nformat: lines\nrules:\n- line: x\n  records: [free: {session: a}]", `m:5:13: unknown record "free": want one of claim, piece, piece_ended, piece_invalid, released, reuse, session_closed, session_ended`},
		{"engine: e\nformat: lines\nrules:\n- line: x\n  records: [session_ended: {session: a, outcome: DONE}]", `m:5:50: unknown outcome "DONE": want SUCCEEDED, FAILED or CANCELLED`},
		{"engine: e\nformat: otlp\nrules:\n- span: x\n", `m:4:3: a rule of format otlp needs "on"`},
		{"engine: e\nformat: lines\nrules:\n- line: x\n---\n", "m:5:1: a file holds one document"},
	} {
		_, err := mapping.Parse("m", []byte(c.text))
		var list mapping.Problems
		if !errors.As(err, &list) || list.Error() != c.want {
			t.Errorf("%q:\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

// TestBadSpans names the line of what is no OTLP.
func TestBadSpans(t *testing.T) {
	m := load(t, "spans.yaml")
	for _, c := range []struct {
		text string
		line int
	}{
		{"{\n\n oops", 3},
		{"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[\n\n{\"name\":1}]}]}]}", 3},
	} {
		_, err := m.Source(strings.NewReader(c.text))
		var syntax *trace.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line {
			t.Errorf("%q: %v, want line %d", c.text, err, c.line)
		}
	}
}

// TestSchema holds the examples against the schema, and sees it refuse.
func TestSchema(t *testing.T) {
	var doc any
	if err := json.Unmarshal(mapping.Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mapping.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mapping.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for _, name := range []string{"engine.yaml", "spans.yaml"} {
		text, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := valid([]byte(words)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"engine: e\nformat: lines\nrules: []", "engine: e\nformat: lines\nrules: [{line: x, records: [{free: {}}]}]"} {
		if valid([]byte(bad)) == nil {
			t.Errorf("the schema takes %q", bad)
		}
	}
}
