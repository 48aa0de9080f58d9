// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/scenario"
	"github.com/kvxfer/kvxfer/trace"
)

// traced runs a scenario and returns its trace.
func traced(t testing.TB, path string) []byte {
	t.Helper()
	f, err := scenario.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, "self", ownership.Incarnation{1}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	report, err := scenario.Trace(f, w.Step)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(report.Final.Counters); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func check(t testing.TB, name string, text []byte) *trace.Report {
	t.Helper()
	r, err := trace.Check(name, trace.NewReader(bytes.NewReader(text)))
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return r
}

// corpus are the scenarios whose traces are to pass.
func corpus(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("../scenario/testdata/*.yaml")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d scenarios, %v", len(paths), err)
	}
	return paths
}

// TestScenariosPass checks the traces of everything that the corpus of scenarios does: all
// contradictions, refusals and late proofs of it are steps that the spec answers so.
func TestScenariosPass(t *testing.T) {
	cells := map[string]int{}
	for _, path := range corpus(t) {
		text := traced(t, path)
		r := check(t, filepath.Base(path), text)
		for _, f := range r.Findings {
			t.Errorf("%s:%d: %s: %s (spec: %s) %v", filepath.Base(path), f.Line, f.Rule, f.What, f.Spec, f.Leads)
		}
		if !r.Ended || r.Lost != 0 || r.Steps == 0 {
			t.Errorf("%s: ended %v, lost %d, %d steps", path, r.Ended, r.Lost, r.Steps)
		}
		for c, n := range r.Cells {
			cells[c] += n
		}
	}
	t.Logf("%d cells", len(cells))
}

// TestSchema holds every line of the traces of scenarios against the schema, and sees it
// refuse lines that are none.
func TestSchema(t *testing.T) {
	var doc any
	if err := json.Unmarshal(trace.Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("trace.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("trace.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(line string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for _, path := range sample(t) {
		for line := range strings.Lines(string(traced(t, path))) {
			if err := valid(line); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(path), line, err)
			}
		}
	}
	for _, bad := range []string{`{"at_ns":1}`, `{"step":"seal"}`, `{"step":"seal","effect":"gate","at_ns":1}`, `{"step":"dance","at_ns":1}`, `{"step":"seal","at_ns":"1"}`, `{"effect":"gate","at_ns":1,"colour":"red"}`} {
		if valid(bad) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}
