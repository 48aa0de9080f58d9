// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/compare"
	"github.com/kvxfer/kvxfer/fsm/load"
)

const door = `machine: door
doc: A door.
states:
  SHUT: {code: 1, initial: true, doc: d}
  AJAR: {code: 2, tags: [wide], doc: d}
events:
  pull: {code: 1, doc: d}
  push: {code: 2, doc: d}
cells:
  SHUT: {pull: AJAR, push: ignore}
  AJAR: {pull: duplicate, push: SHUT}
`

const light = `table: light
doc: A light.
enums:
  Move: {doc: m, values: {WAIT: {code: 1, doc: d}, GO: {code: 2, doc: d}}}
inputs:
  red: {type: bool, doc: d}
outputs:
  move: {type: Move, doc: d}
invalid: {move: WAIT}
rules:
  - {when: {red: true}, then: {move: WAIT}}
  - {when: {red: false}, then: {move: GO}}
`

func set(t *testing.T, texts ...string) *load.Set {
	t.Helper()
	var sources []*load.Source
	for _, text := range texts {
		name := strings.Fields(text)[1]
		sources = append(sources, load.NewSource(name+".yaml", []byte(text)))
	}
	s, err := load.NewSet(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSets: each kind of change in words, with what breaks whoever holds codes.
func TestSets(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after []string
		want          string
	}{
		{"nothing", []string{door, light}, []string{door, light}, ""},
		{"words alone", []string{door}, []string{strings.ReplaceAll(door, "doc: d", "doc: other")}, ""},
		{"new spec", []string{door}, []string{door, light}, "light: a new table"},
		{"spec gone", []string{door, light}, []string{light}, "door: BREAKS CODES: the machine is gone"},
		{"code changed", []string{door}, []string{strings.Replace(door, "AJAR: {code: 2", "AJAR: {code: 3", 1)},
			"door: BREAKS CODES: state AJAR had code 2, has 3 now"},
		{"codes swapped", []string{door}, []string{strings.NewReplacer("pull: {code: 1", "pull: {code: 2", "push: {code: 2", "push: {code: 1").Replace(door)},
			"door: BREAKS CODES: event pull had code 1, has 2 now\ndoor: BREAKS CODES: event push had code 2, has 1 now"},
		{"renamed", []string{door}, []string{strings.ReplaceAll(door, "push", "kick")},
			"door: BREAKS CODES: event push (code 2) is gone\ndoor: BREAKS CODES: event kick (code 2) is new, with the code that was of push"},
		{"new event", []string{door}, []string{strings.NewReplacer("  push: {code: 2, doc: d}\n", "  push: {code: 2, doc: d}\n  kick: {code: 3, doc: d}\n",
			"push: ignore}", "push: ignore, kick: AJAR}", "push: SHUT}", "push: SHUT, kick: ignore}").Replace(door)},
			"door: event kick (code 3) is new"},
		{"cell", []string{door}, []string{strings.Replace(door, "push: ignore", "push: {conflict: no}", 1)},
			"door: cell SHUT push: was ignored, is conflict now"},
		{"move", []string{door}, []string{strings.Replace(door, "push: SHUT", "push: duplicate", 1)},
			"door: cell AJAR push: was a move to SHUT, is duplicate now"},
		{"marks", []string{door}, []string{strings.Replace(door, "AJAR: {code: 2, tags: [wide]", "AJAR: {code: 2, final: true", 1)},
			"door: state AJAR: final was false, is true now\ndoor: state AJAR: tags were [wide], are [] now"},
		{"rules", []string{door + "never:\n  - {from: wide, to: AJAR, without: pull, doc: d}\n"}, []string{door + "never:\n  - {from: SHUT, to: AJAR, without: pull, doc: d}\n"},
			"door: the rule is new: never from SHUT to AJAR without pull\ndoor: the rule is gone: never from AJAR to AJAR without pull"},
		{"answer", []string{light}, []string{strings.Replace(light, "then: {move: GO}", "then: {move: WAIT}", 1)},
			"light: {red false}: was GO, is WAIT now"},
		{"inputs", []string{light}, []string{strings.ReplaceAll(light, "red", "amber")},
			"light: inputs and outputs were red → move, are amber → move now"},
		{"kind", []string{door}, []string{strings.Replace(light, "table: light", "table: door", 1)},
			"door: BREAKS CODES: was a machine, is a table now"},
	} {
		var got []string
		for _, c := range compare.Sets(set(t, tc.before...), set(t, tc.after...)) {
			got = append(got, c.String())
		}
		if text := strings.Join(got, "\n"); text != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, text, tc.want)
		}
	}
}
