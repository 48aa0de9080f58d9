// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestTooManyBits: values that appear while a state is looked at, more than a code has
// bits for, end the exploration there, and nothing is proved.
func TestTooManyBits(t *testing.T) {
	sp, err := load.Bytes("wide.yaml", []byte(`system: wide
doc: eight members with a number each
replicas:
  members: {max: 8, doc: the members}
variables:
  v: {type: "0..200[members]", doc: a number}
  on: {type: bool, doc: something beside them}
actions:
  put(a members, x 0..200):
    doc: any value at any time
    do: "v[a] = x"
  flip:
    doc: and the other variable
    do: "on = !on"
invariants:
  small:
    doc: holds always
    state: "all(x, v, x <= 200)"
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, symmetry := range []bool{false, true} {
		r, err := check.System(t.Context(), sp.(*load.System), check.Options{Replicas: 8, Symmetry: symmetry})
		if err != nil {
			t.Fatal(err)
		}
		if r.Complete || r.OK() || !strings.Contains(r.Stopped, "63 bits") {
			t.Errorf("symmetry %v: complete %v, stopped %q", symmetry, r.Complete, r.Stopped)
		}
		for _, f := range r.Findings {
			if f.Verdict != check.NotFinished {
				t.Errorf("symmetry %v: %s is %v", symmetry, f.Name, f.Verdict)
			}
		}
	}
}
