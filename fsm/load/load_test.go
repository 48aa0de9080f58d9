// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestProjectSpecs: the specs of this project load, as one set.
func TestProjectSpecs(t *testing.T) {
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]load.Kind{
		"claim": load.KindMachine, "verdict": load.KindMachine, "outcome": load.KindMachine,
		"gate": load.KindMachine, "operation": load.KindTable,
	} {
		sp := set.Lookup(name)
		if sp == nil {
			t.Errorf("spec %s is missing", name)
		} else if sp.Header().Kind != kind {
			t.Errorf("spec %s is a %v, want a %v", name, sp.Header().Kind, kind)
		}
	}
}
