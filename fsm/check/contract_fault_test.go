// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// fault is one change of a spec that a property must find.
type fault struct {
	file     string // "" is the system's own
	old, new string // the first occurrence behind after is replaced
	after    string
	finds    string // property
	replicas int    // 0: 1
}

// TestContractFaults: each property finds the mistake that it is there for. A
// property that no fault names would be one that may say nothing.
func TestContractFaults(t *testing.T) {
	if underRace {
		t.Skip("explores on one goroutine; make explore runs it")
	}
	for system, faults := range contractFaults {
		t.Run(system, func(t *testing.T) {
			named := map[string]bool{}
			for _, f := range faults {
				named[f.finds] = true
				t.Run(f.finds, func(t *testing.T) {
					t.Parallel()
					f.mustBeFound(t, system)
				})
			}
			for _, p := range contractSystem(t, contractSources(t), system).Properties {
				if !named[p.Name] {
					t.Errorf("no fault shows that %s finds anything", p.Name)
				}
			}
		})
	}
}

func (f fault) mustBeFound(t *testing.T, system string) {
	sources := contractSources(t)
	file := cmp.Or(f.file, system+".yaml")
	head, tail, ok := strings.Cut(string(sources[file].Data), f.after)
	if !ok || !strings.Contains(tail, f.old) {
		t.Fatalf("%s: no %q behind %q", file, f.old, f.after)
	}
	changed, _, _ := strings.Cut(head+f.after+strings.Replace(tail, f.old, f.new, 1), "\nnever:") // would refuse it at once
	sources[file] = load.NewSource(file, []byte(changed+"\n"))
	sys := contractSystem(t, sources, system)
	for _, env := range environments(sys) {
		r, err := check.System(context.Background(), sys, check.Options{Replicas: cmp.Or(f.replicas, 1), Environment: env})
		if err != nil {
			t.Fatal(err)
		}
		if found := r.Find(f.finds); found != nil && found.Verdict == check.Violated {
			return
		}
	}
	t.Errorf("%q in place of %q: %s does not find it", f.new, f.old, f.finds)
}
