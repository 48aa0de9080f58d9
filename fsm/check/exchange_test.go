// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSymmetryWhileCodesGrow: in these systems codes are laid out anew while it is still
// being tried whether an exchange of replicas makes a difference. With two replicas a
// state stands for itself or for two.
func TestSymmetryWhileCodesGrow(t *testing.T) {
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ranks", "receive"} {
		sys := set.Lookup(name).(*load.System)
		all := explore(t, sys, check.Options{Replicas: 2}).States
		some := explore(t, sys, check.Options{Replicas: 2, Symmetry: true}).States
		if some >= all || 2*some < all {
			t.Errorf("%s: %d states with symmetry, %d without", name, some, all)
		}
	}
}
