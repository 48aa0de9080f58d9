// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
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

// TestSymmetryOfNumbers: with r replicas the states are the multisets
// of r words, and a set with one replica has nobody to exchange it with.
func TestSymmetryOfNumbers(t *testing.T) {
	for replicas, tc := range map[int]struct{ words, states int }{1: {4000, 4000}, 2: {120, 120 * 121 / 2}, 3: {40, 40 * 41 * 42 / 6}} {
		set, err := load.NewSet(load.NewSource("counting.yaml", fmt.Appendf(nil, `
system: counting
doc: members that count for themselves
replicas:
  members: {max: 3, doc: who counts}
variables:
  n: {type: "0..%d[members]", doc: how far it is}
actions:
  go_on(m members):
    doc: it goes on
    refuse:
      - {kind: reject, when: "n[m] == %[1]d", why: it is through}
    do: "n[m]++"
`, tc.words-1)))
		if err != nil {
			t.Fatal(err)
		}
		r := explore(t, set.Lookup("counting").(*load.System), check.Options{Replicas: replicas, Symmetry: true})
		if r.States != tc.states {
			t.Errorf("%d replicas: %d states, want %d", replicas, r.States, tc.states)
		}
	}
}
