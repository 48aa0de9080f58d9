// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"errors"
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
	if testing.Short() || underRace {
		t.Skip("compiles a model for each system; make explore runs it")
	}
	set, err := load.Dir("../../spec")
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
