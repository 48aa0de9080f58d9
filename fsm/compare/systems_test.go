// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/compare"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSystems: each change of a system is told in one line, with what broke.
func TestSystems(t *testing.T) {
	door, err := os.ReadFile("../load/testdata/system/door.yaml")
	if err != nil {
		t.Fatal(err)
	}
	guests, err := os.ReadFile("../load/testdata/system/guests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) *load.Set {
		set, err := load.NewSet(load.NewSource("door.yaml", door), load.NewSource("guests.yaml", []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	for _, tc := range []struct{ old, new, want string }{
		{"", "", ""},
		{"knocks == most", "knocks >= most", "action knock was refuse closed when door == OPEN; refuse refused when knocks == 3; do knocks = knocks + 1, is refuse closed when door == OPEN; refuse refused when knocks >= 3; do knocks = knocks + 1 now"},
		{"[RED, GREEN]", "[RED, GREEN, BLUE]", "guests: enum Light was RED, GREEN, is RED, GREEN, BLUE now"},
		{"[RED, GREEN]", "[GREEN, RED]", "guests: BREAKS CODES: enum Light was RED, GREEN, is GREEN, RED now"},
		{"init: GREEN", "init: RED", "variable light was Light, at first GREEN, is Light, at first RED now"},
		{"  I1:\n", "  I9:\n", "property I1 is gone\nguests: a new property I9: !(light == RED) || all(g, guests, !alone(g))"},
		{"knocks > 1", "knocks > 2", "reaction shut was when !anyone && door == OPEN && knocks > 1: offer(door, pull), is when !anyone && door == OPEN && knocks > 2: offer(door, pull) now"},
	} {
		var got []string
		for _, c := range compare.Sets(read(string(guests)), read(strings.Replace(string(guests), tc.old, tc.new, 1))) {
			got = append(got, c.String())
		}
		if text := strings.Join(got, "\n"); tc.want == "" && text != "" || !strings.HasSuffix(text, tc.want) {
			t.Errorf("%s in place of %s gives %q", tc.new, tc.old, text)
		}
	}
}
