// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/export"
)

// BenchmarkExplore: the benchmark model as fsmgen check explores it, beside Spin on the
// model that export promela writes, compiled as its users are told to.
func BenchmarkExplore(b *testing.B) {
	for _, writers := range []int{3, 4, 5} {
		sys := benchModel(b, "", "")
		b.Run("writers="+strconv.Itoa(writers)+"/fsmgen", func(b *testing.B) {
			states := 0
			for range b.N {
				r, err := check.System(context.Background(), sys, check.Options{Replicas: writers})
				if err != nil {
					b.Fatal(err)
				}
				states = r.States
			}
			b.ReportMetric(float64(states)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mstates/s")
		})
		b.Run("writers="+strconv.Itoa(writers)+"/spin", func(b *testing.B) {
			model, err := export.Promela(sys, writers, "strict")
			if err != nil {
				b.Fatal(err)
			}
			pan := buildSpin(b, model, "-O3", "-DSAFETY")
			b.ResetTimer()
			states := 0
			for range b.N {
				out, err := exec.Command(pan, "-m1000000", "-w26").CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				states, _ = strconv.Atoi(string(stored.FindSubmatch(out)[1]))
			}
			b.ReportMetric(float64(states)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mstates/s")
		})
	}
}

// buildSpin compiles a model, or skips where Spin is not installed.
func buildSpin(t testing.TB, model []byte, flags ...string) (pan string) {
	t.Helper()
	for _, tool := range []string{"spin", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; the Debian packages are spin and gcc", tool)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.pml"), model, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"spin", "-a", "model.pml"}, append(append([]string{"cc", "-w", "-DNOREDUCE"}, flags...), "-o", "pan", "pan.c")} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return filepath.Join(dir, "pan")
}
