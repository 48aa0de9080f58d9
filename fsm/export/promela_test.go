// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/export"
	"github.com/kvxfer/kvxfer/fsm/load"
)

const benchFolder = "../check/testdata/bench/"

// benchModel loads the benchmark model after replacing one text in it.
func benchModel(t testing.TB, old, new string) *load.System {
	t.Helper()
	var sources []*load.Source
	for _, name := range []string{"bench.yaml", "bench_claim.yaml"} {
		data, err := os.ReadFile(benchFolder + name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, load.NewSource(name, []byte(strings.Replace(string(data), old, new, 1))))
	}
	set, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return set.Lookup("bench").(*load.System)
}

// spin runs the model and returns what Spin prints.
func spin(t *testing.T, model []byte) string {
	t.Helper()
	cmd := exec.Command(buildSpin(t, model, "-O1"), "-m100000")
	cmd.Dir = t.TempDir() // pan leaves a trail beside it
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

var (
	stored = regexp.MustCompile(`(\d+) states, stored`)
	broken = regexp.MustCompile(`errors: (\d+)`)
)

// TestSpinAgrees: Spin stores as many states of the benchmark model as its page says,
// and finds every assertion to hold.
func TestSpinAgrees(t *testing.T) {
	if underRace {
		t.Skip("compares with another program; make explore runs it")
	}
	for _, tc := range []struct {
		replicas, states int
		environment      string
	}{{1, 434, "strict"}, {2, 3256, "loose"}, {3, 31220, "strict"}} {
		model, err := export.Promela(benchModel(t, "", ""), tc.replicas, tc.environment)
		if err != nil {
			t.Fatal(err)
		}
		out := spin(t, model)
		if m := stored.FindStringSubmatch(out); m == nil || m[1] != strconv.Itoa(tc.states) {
			t.Errorf("%d writers, %s: Spin says %v, want %d states", tc.replicas, tc.environment, m, tc.states)
		}
		if m := broken.FindStringSubmatch(out); m == nil || m[1] != "0" {
			t.Errorf("%d writers, %s: Spin says %v", tc.replicas, tc.environment, m)
		}
	}
}

// TestSpinFinds: an assertion of the model is a check, not a decoration.
func TestSpinFinds(t *testing.T) {
	sys := benchModel(t, "gate == OPEN && pend && outcome != CANCELLED", "gate == OPEN && pend")
	model, err := export.Promela(sys, 1, "strict")
	if err != nil {
		t.Fatal(err)
	}
	if out := spin(t, model); !strings.Contains(out, "assertion violated") {
		t.Errorf("Spin does not see a publication after a cancel:\n%s", out)
	}
}

// TestPromelaRefuses: what the model cannot be is an error.
func TestPromelaRefuses(t *testing.T) {
	if _, err := export.Promela(benchModel(t, "", ""), 1, "friendly"); err == nil {
		t.Error("an unknown environment is accepted")
	}
}
