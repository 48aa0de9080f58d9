// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/lint"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestProjectSpecs: our own specs are without findings.
func TestProjectSpecs(t *testing.T) {
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	if err := lint.Check(set).Err(); err != nil {
		t.Error(err)
	}
}

const head = "machine: door\ndoc: A door.\nstates:\n"

// TestFindings: each rule finds its fault, at its place, and nothing else.
func TestFindings(t *testing.T) {
	for _, tc := range []struct{ name, file, text, want string }{
		{"unreachable", "door", head + "  A: {code: 1, initial: true, final: true, doc: d}\n  B: {code: 2, doc: d}\nevents:\n  e: {code: 1, doc: d}\ncells:\n  A: {e: ignore}\n  B: {e: A}\n",
			"door.yaml:5:3: state B cannot be reached from A"},
		{"no exit", "door", head + "  A: {code: 1, initial: true, doc: d}\n  B: {code: 2, doc: d}\nevents:\n  e: {code: 1, doc: d}\ncells:\n  A: {e: B}\n  B: {e: ignore}\n",
			"door.yaml:5:3: state B has no exit; say final: true if that is meant"},
		{"final that moves", "door", head + "  A: {code: 1, initial: true, doc: d}\n  B: {code: 2, final: true, doc: d}\nevents:\n  e: {code: 1, doc: d}\ncells:\n  A: {e: B}\n  B: {e: A}\n",
			"door.yaml:5:3: state B is final, but event e moves it"},
		{"no way to an end", "door", head + "  A: {code: 1, initial: true, doc: d}\n  B: {code: 2, final: true, doc: d}\n  C: {code: 3, doc: d}\n  D: {code: 4, doc: d}\n" +
			"events:\n  e: {code: 1, doc: d}\n  f: {code: 2, doc: d}\ncells:\n  A: {e: B, f: C}\n  B: {e: ignore, f: ignore}\n  C: {e: D, f: D}\n  D: {e: C, f: C}\n",
			"door.yaml:6:3: no final state can be reached from state C\ndoor.yaml:7:3: no final state can be reached from state D"},
		{"dead event", "door", head + "  A: {code: 1, initial: true, doc: d}\n  B: {code: 2, doc: d}\nevents:\n  e: {code: 1, doc: d}\n  f: {code: 2, doc: d}\ncells:\n  A: {e: B, f: ignore}\n  B: {e: A, f: reject}\n",
			"door.yaml:8:3: event f moves no state"},
		{"unused answer and idle input", "light", `table: light
doc: A light.
enums:
  Move: {doc: m, values: {WAIT: {code: 1, doc: d}, GO: {code: 2, doc: d}}}
inputs:
  red: {type: bool, doc: d}
  wet: {type: bool, doc: d}
outputs:
  move: {type: Move, doc: d}
invalid: {move: GO}
rules:
  - when: {red: [true, false]}
    then: {move: WAIT}
`, "light.yaml:4:52: no rule gives move GO\nlight.yaml:7:3: no rule looks at input wet"},
	} {
		set, err := load.NewSet(load.NewSource(tc.file+".yaml", []byte(tc.text)))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		got := ""
		if err := lint.Check(set).Err(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, strings.TrimSpace(tc.want))
		}
	}
}
