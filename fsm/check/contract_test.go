// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// mostCount is the constant of the largest count in a system.
var mostCount = regexp.MustCompile(`(?m)^  most: \d+\n`)

// contractSources reads the contract's machines and tables, and its systems.
func contractSources(t testing.TB) map[string]*load.Source {
	t.Helper()
	out := map[string]*load.Source{}
	names, err := filepath.Glob("../../spec/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		data = mostCount.ReplaceAll(data, []byte("  most: 3\n")) // a full table can be reached
		out[base] = load.NewSource(base, data)
	}
	return out
}

func contractSystem(t testing.TB, sources map[string]*load.Source, name string) *load.System {
	t.Helper()
	var list []*load.Source
	for _, s := range sources {
		list = append(list, s)
	}
	set, err := load.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	sys, ok := set.Lookup(name).(*load.System)
	if !ok {
		t.Fatalf("no system %s", name)
	}
	return sys
}

// environments lists those of a system; one without any has a single, nameless one.
func environments(sys *load.System) []string {
	if len(sys.Environments) == 0 {
		return []string{""}
	}
	return sys.Environments
}

// TestContract: the systems of the contract keep every property.
func TestContract(t *testing.T) {
	sources := contractSources(t)
	for _, tc := range []struct {
		name     string
		replicas int
		symmetry bool
	}{
		{"admission", 2, false},
		{"member", 1, false},
		{"ranks", 2, false},
		{"ranks", 3, false},
		{"region", 2, false},
		{"retirement", 1, false},
		{"session", 1, false},
		{"session", 2, false},
		{"session", 3, false},
		{"send", 1, false},
		{"send", 2, false},
		{"send", 3, true},
		{"receive", 1, false},
		{"receive", 2, false},
		{"receive", 3, false},
	} {
		if tc.replicas > 2 && testing.Short() || tc.replicas > 1 && underRace {
			continue
		}
		sys := contractSystem(t, sources, tc.name)
		for _, env := range environments(sys) {
			r := explore(t, sys, check.Options{Replicas: tc.replicas, Environment: env, Symmetry: tc.symmetry})
			t.Logf("%s, %d replicas, %s: %d states, %d edges, depth %d, %v", tc.name, tc.replicas, env, r.States, r.Edges, r.Depth, r.Elapsed)
			for _, f := range r.Findings {
				if !f.Expected() {
					t.Errorf("%s: %s: %v %s\n%v", f.Name, f.Doc, f.Verdict, f.Why, f.Trace)
				}
			}
		}
	}
}
