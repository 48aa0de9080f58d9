// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

func benchSystem(t testing.TB) *load.System {
	t.Helper()
	set, err := load.Dir("testdata/bench")
	if err != nil {
		t.Fatal(err)
	}
	return set.Lookup("bench").(*load.System)
}

// TestBenchCounts: two independent checkers and a hand-written explorer agree on
// these numbers.
func TestBenchCounts(t *testing.T) {
	sys := benchSystem(t)
	for _, tc := range []struct{ w, states, strict, loose, depth, symmetric int }{
		{1, 434, 1159, 1181, 12, 434},
		{2, 3256, 13614, 14098, 17, 1845},
		{3, 31220, 182993, 190979, 22, 6976},
	} {
		for env, edges := range map[string]int{"strict": tc.strict, "loose": tc.loose} {
			r := explore(t, sys, check.Options{Replicas: tc.w, Environment: env})
			if r.States != tc.states || r.Edges != edges || r.Depth != tc.depth {
				t.Errorf("%d writers, %s: %d states, %d edges, depth %d; want %d, %d, %d",
					tc.w, env, r.States, r.Edges, r.Depth, tc.states, edges, tc.depth)
			}
			r = explore(t, sys, check.Options{Replicas: tc.w, Environment: env, Symmetry: true})
			if r.States != tc.symmetric || r.Depth != tc.depth {
				t.Errorf("%d writers, %s, symmetric: %d states, depth %d; want %d, %d", tc.w, env, r.States, r.Depth, tc.symmetric, tc.depth)
			}
		}
	}
}

func explore(t testing.TB, sys *load.System, o check.Options) *check.Result {
	t.Helper()
	r, err := check.System(context.Background(), sys, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete {
		t.Fatalf("stopped: %s", r.Stopped)
	}
	return r
}

func BenchmarkBench(b *testing.B) {
	sys := benchSystem(b)
	for _, tc := range []struct {
		name string
		o    check.Options
	}{
		{"writers=1", check.Options{Replicas: 1}},
		{"writers=3", check.Options{Replicas: 3}},
		{"writers=4", check.Options{Replicas: 4}},
		{"writers=5", check.Options{Replicas: 5}},
		{"writers=3/symmetry", check.Options{Replicas: 3, Symmetry: true}},
		{"writers=5/symmetry", check.Options{Replicas: 5, Symmetry: true}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			var r *check.Result
			for range b.N {
				r = explore(b, sys, tc.o)
			}
			b.ReportMetric(float64(r.States), "states")
			b.ReportMetric(float64(r.StateBytes)/float64(r.States), "B/state")
			b.ReportMetric(float64(r.States)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mstates/s")
		})
	}
}
