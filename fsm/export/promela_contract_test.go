// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/export"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSpinAgreesOnContract: on every system of the contract that Promela can express,
// Spin stores the states that fsmgen check visits, and finds no assertion broken.
func TestSpinAgreesOnContract(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a model for each system")
	}
	sources := map[string]*load.Source{}
	for _, pattern := range []string{"../check/testdata/contract/*.yaml", "../../spec/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources[filepath.Base(file)] = load.NewSource(filepath.Base(file), data)
		}
	}
	var list []*load.Source
	for _, s := range sources {
		list = append(list, s)
	}
	set, err := load.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	for _, sp := range set.Specs {
		if sys, ok := sp.(*load.System); ok {
			t.Run(sys.Name, func(t *testing.T) { agreeWithSpin(t, sys) })
		}
	}
}

func agreeWithSpin(t *testing.T, sys *load.System) {
	model, err := export.Promela(sys, 1, "")
	var unsupported *export.UnsupportedError
	if errors.As(err, &unsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	r, err := check.System(t.Context(), sys, check.Options{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := r.States
	for _, v := range sys.Vars {
		if v.InitAny && v.Tracked() {
			want = r.States + 1 // the choice among first states
		}
	}
	out := spin(t, model)
	if m := stored.FindStringSubmatch(out); m == nil || m[1] != strconv.Itoa(want) || !strings.Contains(out, "errors: 0") {
		t.Errorf("Spin says %v; %d states are reachable\n%s", m, want, out)
	}
}
