// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/scenario"
)

// contractSystem loads a system of spec/ after one change of one of its files.
func contractSystem(t *testing.T, name, file, old, new string) *load.System {
	t.Helper()
	paths, err := filepath.Glob("../../spec/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sources []*load.Source
	changed := false
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == file {
			head, _, _ := strings.Cut(string(data), "\nnever:") // would refuse some changes at once
			data = []byte(strings.Replace(head, old, new, 1) + "\n")
			changed = changed || head+"\n" != string(data)
		}
		sources = append(sources, load.NewSource(filepath.Base(path), data))
	}
	if !changed {
		t.Fatalf("%s has no %q", file, old)
	}
	set, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return set.Lookup(name).(*load.System)
}

// replayed runs the scenario of a property's counterexample against the registry.
func replayed(t *testing.T, sys *load.System, replicas int, property string) (*scenario.Report, string) {
	t.Helper()
	r, err := check.System(t.Context(), sys, check.Options{Replicas: replicas, Environment: "strict", Symmetry: replicas > 2})
	if err != nil {
		t.Fatal(err)
	}
	found := r.Find(property)
	if found == nil || found.Verdict != check.Violated {
		t.Fatalf("%s is not found broken: %v", property, found)
	}
	text := found.Trace.Scenario(sys, replicas)
	file, err := scenario.Parse("counterexample.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	report, err := scenario.Run(file)
	if err != nil {
		t.Fatal(err)
	}
	return report, text
}

// TestCounterexamplesReplay: what fsmgen check finds in a changed contract is a scenario
// that runs. The registry, which has no such fault, does as the run says until the step
// where the fault lets happen what must not.
func TestCounterexamplesReplay(t *testing.T) {
	if underRace {
		t.Skip("explores on one goroutine; make explore runs it")
	}
	for _, tc := range []struct {
		system, file, old, new string
		finds                  string
		replicas               int
		want                   string // what the registry says to the last step
	}{
		{"receive", "receive.yaml", "outcome == ACTIVE || !settled", "outcome == ACTIVE || invalid", "I1_truth", 2, "refused"},
		{"receive", "gate.yaml", "fail_send: {reject: nothing was sealed}", "fail_send: {ignore: nothing was sealed}", "no_fan_out", 1, "reject"},
		{"send", "send.yaml", "outcome == ACTIVE || !settled", "outcome == ACTIVE || invalid", "I1_truth", 2, "refused"},
	} {
		t.Run(tc.system+" "+tc.finds, func(t *testing.T) {
			report, text := replayed(t, contractSystem(t, tc.system, tc.file, tc.old, tc.new), tc.replicas, tc.finds)
			for i, s := range report.Steps {
				last := i == len(report.Steps)-1
				if failed := len(s.Failures) > 0; failed != last || last && !strings.Contains(s.Failures[0].Text, tc.want) {
					t.Errorf("step %d, %s: %v\n%s", i+1, s.Step.Text, s.Failures, text)
				}
			}
		})
	}
}

// TestReachableReplay: what the contract says is possible happens in the registry, step
// by step: the shortest runs to states that a property calls impossible.
func TestReachableReplay(t *testing.T) {
	if underRace {
		t.Skip("explores on one goroutine; make explore runs it")
	}
	for _, tc := range []struct {
		system, impossible string
		replicas           int
	}{
		{"receive", "outcome == SUCCEEDED && has_local", 2},
		{"receive", "outcome == SUCCEEDED && need < count(a, accessors, true)", 3},
		{"receive", "released && any(a, accessors, late[a])", 2},
		{"receive", "invalid && outcome == CANCELLED", 1},
		{"receive", "gate == SEALED && any(a, accessors, claims[a] == SAFE_UNPUBLISHED) && any(a, accessors, verdicts[a] == FAILED)", 2},
		{"receive", "released && any(a, accessors, fenced[a]) && local_fenced", 1},
		{"send", "outcome == SUCCEEDED && has_local", 2},
		{"send", "released && any(a, accessors, claims[a] == FAILED_QUIESCED)", 1},
		{"send", "invalid && outcome == FAILED", 2},
		{"send", "any(a, accessors, phases[a] == DROPPED) && outcome == CANCELLED", 1},
	} {
		property := "invariants:\n  impossible:\n    doc: not so\n    state: \"!(" + tc.impossible + ")\"\n"
		sys := contractSystem(t, tc.system, tc.system+".yaml", "invariants:\n", property)
		report, text := replayed(t, sys, tc.replicas, "impossible")
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v\n%s", tc.impossible, err, text)
		}
	}
}
