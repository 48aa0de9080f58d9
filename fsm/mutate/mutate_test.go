// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mutate_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/fsm/mutate"
	"github.com/kvxfer/kvxfer/spec"
)

const door = `machine: door
doc: a door with ä umlaut
states:
  OPEN: {code: 1, initial: true, doc: it is open}
  SHUT: {code: 2, doc: it is shut}
events:
  push: {code: 1, doc: somebody pushes}
  pull: {code: 2, doc: somebody pulls}
cells:
  OPEN: {push: SHUT, pull: {reject: "it is open"}}
  SHUT:
    push: "ignore"
    pull:
      OPEN: it opens
`

// TestMachine: every cell gets every other answer, whatever way it is written in.
func TestMachine(t *testing.T) {
	sp, err := load.Bytes("door.yaml", []byte(door))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutate.Of(sp) {
		got = append(got, fmt.Sprintf("%d:%d %s", m.Pos.Line, m.Pos.Col, m.What))
		changed, err := m.In(&load.Set{Specs: []load.Spec{sp}})
		if err != nil {
			t.Errorf("%s: %v", m.What, err)
			continue
		}
		if n := differ(sp.(*load.Machine), changed.(*load.Machine)); n != 1 {
			t.Errorf("%s: %d cells differ", m.What, n)
		}
	}
	if len(got) != 4*4 || !slices.IsSorted(got[:1]) {
		t.Errorf("%d mutants, want 16: %q", len(got), got)
	}
	for _, want := range []string{
		"10:16 OPEN push: SHUT becomes reject", "10:28 OPEN pull: reject becomes SHUT",
		"12:11 SHUT push: ignore becomes OPEN", "14:7 SHUT pull: OPEN becomes conflict",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func differ(a, b *load.Machine) int {
	n := 0
	for s := range a.Cells {
		for e := range a.Cells[s] {
			if a.Word(a.Cells[s][e]) != b.Word(b.Cells[s][e]) {
				n++
			}
		}
	}
	return n
}

// TestEverything: every cell of the project's machines has all its mutants, and every
// written output of its tables; each is one word of the text.
func TestEverything(t *testing.T) {
	set, err := load.FS(spec.Files, "spec")
	if err != nil {
		t.Fatal(err)
	}
	for _, sp := range set.Specs {
		want := 0
		switch sp := sp.(type) {
		case *load.Machine:
			// The state itself is no answer; the present one is no change.
			want = len(sp.States) * len(sp.Events) * (len(sp.States) - 1 + 4 - 1)
		case *load.Table:
			for _, r := range append([]*load.Rule{sp.InvalidRule()}, sp.Rules...) {
				for _, c := range sp.Outputs {
					if _, written := sp.Written(r, c); written {
						want += c.Size() - 1
					}
				}
			}
		}
		mutants := mutate.Of(sp)
		if len(mutants) != want {
			t.Errorf("%s: %d mutants, want %d", sp.Header().Name, len(mutants), want)
		}
		for _, m := range mutants {
			if old := sp.Header().Source.Data; bytes.Equal(old, m.Text()) || bytes.Count(old, []byte("\n")) != bytes.Count(m.Text(), []byte("\n")) {
				t.Errorf("%s: the text is not changed by one word", m.What)
			}
		}
	}
}
