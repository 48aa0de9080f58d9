// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// edited loads the benchmark model after replacing one text in it.
func edited(t testing.TB, old, new string) *load.System {
	t.Helper()
	var sources []*load.Source
	hits := 0
	for _, name := range []string{"bench.yaml", "bench_claim.yaml"} {
		data, err := os.ReadFile("testdata/bench/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if old != "" {
			hits += bytes.Count(data, []byte(old))
			data = bytes.ReplaceAll(data, []byte(old), []byte(new))
		}
		sources = append(sources, load.NewSource("testdata/bench/"+name, data))
	}
	if old != "" && hits != 1 {
		t.Fatalf("%q stands %d times in the model", old, hits)
	}
	set, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return set.Lookup("bench").(*load.System)
}

// seeded are mistakes, each as an edit of the model and as a bug of the oracle.
var seeded = []struct {
	bug, old, new string
	breaks        string // invariants that must find it, with a space between
}{
	{"", "", "", "I3s"},
	{"publish", "gate == OPEN && pend && outcome != CANCELLED", "gate == OPEN && pend", "I4"},
	{"timeout", "if outcome == ACTIVE { outcome = FAILED }", "outcome = FAILED", "I2"},
	{"succeed", "local == QUIESCED && outcome == ACTIVE && all_ok", "local == QUIESCED && outcome == ACTIVE", "I3s"},
	{"scatter", "local == IDLE && outcome == ACTIVE && all_ok", "local == IDLE && outcome == ACTIVE", "I3s"},
	{"unsettled", "&& !pend && all_settled && local", "&& !pend && local", "I1 I5"},
	{"latch", "local != MAY_ACCESS && !invalid\"", "local != MAY_ACCESS\"", "I5"},
	{"deaf", "done_fail: ignore, settle: conflict, doubt: IN_DOUBT", "done_fail: ignore, settle: conflict, doubt: ignore", "I7"},
	{"revive", "IN_DOUBT: {publish: reject, withdraw: reject, done_ok: conflict", "IN_DOUBT: {publish: reject, withdraw: reject, done_ok: DRAINED", "I6 I8_done_ok"},
	{"finish", "gate != OPEN && pend", "gate == SEALED && pend", "L"},
}

// TestSeededBugs: each mistake is found by the invariants that speak of it, in as few
// steps as the oracle needs, and by no other; the runs are what they claim.
func TestSeededBugs(t *testing.T) {
	for _, tc := range seeded {
		sys := edited(t, tc.old, tc.new)
		for _, env := range []string{"strict", "loose"} {
			for w := 1; w <= 3; w++ {
				if w == 3 && (underRace || env == "loose" || tc.bug != "" && tc.bug != "latch") {
					continue // the oracle takes its time
				}
				o := &oracle{n: w, loose: env == "loose", bug: tc.bug}
				states, depth := o.run()
				r := explore(t, sys, check.Options{Replicas: w, Environment: env})
				if r.States != states || r.Edges != o.edges || r.Depth != depth {
					t.Errorf("%s, %d writers, %s: %d states, %d edges, depth %d; the oracle has %d, %d, %d",
						tc.bug, w, env, r.States, r.Edges, r.Depth, states, o.edges, depth)
				}
				compare(t, tc.bug, r, o.found)
				compare(t, tc.bug+" (symmetric)", explore(t, sys, check.Options{Replicas: w, Environment: env, Symmetry: true}), o.found)
				for name := range strings.FieldsSeq(tc.breaks) {
					if f := r.Find(name); f.Verdict != check.Violated {
						t.Errorf("%s, %d writers, %s: %s is %v", tc.bug, w, env, name, f.Verdict)
					}
				}
			}
		}
	}
}

func compare(t *testing.T, bug string, r *check.Result, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, f := range r.Findings {
		if f.Verdict != check.Violated {
			continue
		}
		if f.Name != "L" {
			got[f.Name] = f.Length
		}
		if f.Trace == nil || len(f.Trace.Steps) != f.Length {
			t.Errorf("%s: %s has a run of another length than %d:\n%v", bug, f.Name, f.Length, f.Trace)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s, %d writers, %s: broken %v; the oracle has %v", bug, r.Replicas, r.Environment, got, want)
	}
}

// TestLivelock: DRAINED and IN_DOUBT take turns for ever, and nothing fair is left
// out: only a search for fair cycles sees it.
func TestLivelock(t *testing.T) {
	sys := edited(t, "settle: FAILED_QUIESCED", "settle: DRAINED")
	r := explore(t, sys, check.Options{Replicas: 1})
	f := r.Find("L")
	if f.Verdict != check.Violated || f.Trace == nil || f.Trace.Loop >= len(f.Trace.Steps) {
		t.Fatalf("L is %v, %s\n%v", f.Verdict, f.Why, f.Trace)
	}
	var round []string
	for _, s := range f.Trace.Steps[f.Trace.Loop:] {
		round = append(round, s.Call)
	}
	t.Log("\n", f.Trace)
	if got := strings.Join(round, " "); !strings.Contains(got, "doubt(1)") || !strings.Contains(got, "settle(1)") {
		t.Errorf("the cycle is %s", got)
	}
	if r := explore(t, edited(t, "", ""), check.Options{Replicas: 2}); r.Find("L").Verdict != check.Proved {
		t.Errorf("L of the model itself is %v", r.Find("L").Verdict)
	}
	if r := explore(t, sys, check.Options{Replicas: 2, Symmetry: true}); r.Find("L").Verdict != check.NotFinished {
		t.Errorf("with symmetry L is %v; a cycle among exchanged replicas proves nothing", r.Find("L").Verdict)
	}
}

// TestBounds: what stops early is never called proved.
func TestBounds(t *testing.T) {
	sys := edited(t, "", "")
	for _, o := range []check.Options{{Replicas: 3, MaxStates: 1000}, {Replicas: 3, MaxMemory: 1 << 16}} {
		r, err := check.System(t.Context(), sys, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Complete || r.Stopped == "" || r.OK() {
			t.Errorf("%+v: complete %v, stopped %q", o, r.Complete, r.Stopped)
		}
		for _, f := range r.Findings {
			if f.Verdict == check.Proved {
				t.Errorf("%s is proved after %d states", f.Name, r.States)
			}
		}
	}
}

// TestBoundOfWords: a counter that runs away takes memory by its values, not by its
// states, and the bound holds all the same.
func TestBoundOfWords(t *testing.T) {
	set, err := load.NewSet(load.NewSource("runaway.yaml", []byte(`system: runaway
doc: a counter without end
variables:
  n: 0..16777215
actions:
  more:
    do: "n++"
invariants:
  small:
    doc: it never comes there
    state: "n < 16777215"
`)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.System(t.Context(), set.Lookup("runaway").(*load.System), check.Options{MaxMemory: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete || !strings.Contains(r.Stopped, "memory") || r.States > 1<<20 {
		t.Errorf("%d states, complete: %v, stopped: %q", r.States, r.Complete, r.Stopped)
	}
}

// TestSymmetryIsTried: a spec that treats replicas by their order is not explored as
// if it did not.
func TestSymmetryIsTried(t *testing.T) {
	first := edited(t, `do: "if outcome == ACTIVE { outcome = FAILED }"`, `do: |
      for i := range writers {
        if outcome == ACTIVE {
          outcome = FAILED
          offer(claims[i], withdraw)
        }
      }`)
	r, err := check.System(t.Context(), first, check.Options{Replicas: 2, Symmetry: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete || !strings.Contains(r.Stopped, "exchange") {
		t.Errorf("complete %v, stopped %q", r.Complete, r.Stopped)
	}
}

// TestDead: an action that can never do anything is named.
func TestDead(t *testing.T) {
	r := explore(t, edited(t, "local == QUIESCED && outcome", "local == QUIESCED && gate == ABORTED && outcome"), check.Options{Replicas: 1})
	if got := strings.Join(r.Dead, " "); got != "succeed" {
		t.Errorf("dead: %q", got)
	}
	if r := explore(t, edited(t, "", ""), check.Options{Replicas: 1}); len(r.Dead) > 0 {
		t.Errorf("dead in the model itself: %q", r.Dead)
	}
}
