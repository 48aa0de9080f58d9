// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What is wrong with the traces of a run is a broken rule of it: each trace by itself,
// all of them together, and an end that is missing.
func TestTracesJudgeTheRun(t *testing.T) {
	c := config(t)
	c.Traces = t.TempDir()
	spec := Spec{Fault: None, Transport: "cma", Nodes: 2, Seed: 11}
	r, err := Run(t.Context(), c, spec)
	if err != nil || len(r.Findings) > 0 || r.Kept != c.Traces || r.Traces.Messages == 0 || r.Traces.Operations == 0 || r.Traces.Files != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	cluster := &cluster{config: &c, spec: spec, folder: c.Traces, lives: []int{1, 1}, dead: make([]bool, 2)}
	judge := func() *attack {
		a := &attack{cluster: cluster, renewed: make([]bool, 2), result: &Result{}}
		if err := a.testify(); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if found := judge().result.Findings; len(found) > 0 {
		t.Fatalf("the good traces: %q", found)
	}
	path := cluster.traceFile(0, 0)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good := strings.SplitAfter(string(text), "\n")
	said := slices.IndexFunc(good, func(l string) bool { return strings.Contains(l, `"message":"OK"`) })
	if said < 0 {
		t.Fatal("no OK was ever sent")
	}
	for name, damaged := range map[string]struct {
		lines []string
		want  string
	}{
		"alone":    {slices.Delete(slices.Clone(good), said, said+1), "node-0.0.jsonl:"},
		"together": {slices.Delete(slices.Clone(good), said, said+1), "against"},
		"no end":   {good[:len(good)-2], "its trace has no end"},
		"no trace": {[]string{"nothing\n"}, "node-0.0.jsonl:1: "},
	} {
		if err := os.WriteFile(path, []byte(strings.Join(damaged.lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		if found := judge().result.Findings; !strings.Contains(strings.Join(found, "\n"), damaged.want) {
			t.Errorf("%s: %q", name, found)
		}
	}
	// One that was killed has no end, and that is nothing wrong.
	if err := os.WriteFile(path, []byte(strings.Join(good[:said], "")+`{"step`), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.dead[0] = true
	if a := judge(); len(a.result.Findings) > 0 || a.result.Traces.Cut != 1 || a.result.Traces.Unknown == 0 {
		t.Errorf("killed: %+v", a.result)
	}
}
