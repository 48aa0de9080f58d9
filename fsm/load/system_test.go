// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestBenchSystem: the benchmark model loads whole.
func TestBenchSystem(t *testing.T) {
	set, err := load.Dir("../check/testdata/bench")
	if err != nil {
		t.Fatal(err)
	}
	s, ok := set.Lookup("bench").(*load.System)
	if !ok {
		t.Fatal("no system bench")
	}
	if len(s.Actions) != 17 || len(s.Properties) != 13 || len(s.Fair) != 9 || len(s.Vars) != 9 {
		t.Errorf("%d actions, %d properties, %d fairness, %d variables", len(s.Actions), len(s.Properties), len(s.Fair), len(s.Vars))
	}
}
