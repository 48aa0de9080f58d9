// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/lint"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSystemFindings: each kind of saying without effect is found, at its place.
func TestSystemFindings(t *testing.T) {
	door, err := os.ReadFile("../load/testdata/system/door.yaml")
	if err != nil {
		t.Fatal(err)
	}
	guests, err := os.ReadFile("../load/testdata/system/guests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, new, want string }{
		{"", "", ""},
		{`when: "light == GREEN"`, `when: "light == GREEN || light == RED"`, "action push: when: light == GREEN || light == RED is always true"},
		{`when: "light == GREEN"`, `when: "light == GREEN && !(knocks <= most)"`, "action push: when: !(knocks <= 3) is always false"},
		{`when: "knocks == most"`, `when: "knocks > most"`, "guests.yaml:47:9: action knock: refusal refused: knocks > 3 is always false"},
		{`if r == moved { knocks = 0 }`, `if r == moved && in(door, SHUT, OPEN) { knocks = 0 }`, "action push: if: in(door, SHUT, OPEN) is always true"},
		{"  anyone: ", "  nobody: \"!anyone\"\n  anyone: ", "definition nobody is never used"},
		{"procedures:\n", "procedures:\n  idle: \"knocks = 0\"\n", "guests.yaml:34:3: procedure idle is never called"},
		{"effects:\n", "effects:\n  hum(): nobody hears it\n", "effect hum is never emitted"},
		{"knocks > 1", "knocks >= 0", "reaction shut: knocks >= 0 is always true"},
	} {
		text := strings.Replace(string(guests), tc.old, tc.new, 1)
		if tc.old != "" && text == string(guests) {
			t.Fatalf("%q is not in the system", tc.old)
		}
		set, err := load.NewSet(load.NewSource("door.yaml", door), load.NewSource("guests.yaml", []byte(text)))
		if err != nil {
			t.Errorf("%s: %v", tc.new, err)
			continue
		}
		found := lint.Check(set)
		got := ""
		if err := found.Err(); err != nil {
			got = err.Error()
		}
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || strings.Contains(got, "\n") {
			t.Errorf("%s gives %q, want %q", tc.new, got, tc.want)
		}
	}
}
