// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSyntaxPlace: what is no YAML is shown at its line and column, which the parser
// does not tell.
func TestSyntaxPlace(t *testing.T) {
	for _, tc := range []struct {
		text      string
		line, col int
	}{
		{"machine: a\ndoc: {x: 1, y: 2\nb: 3\n", 2, 6},
		{"doc: {x: 1 y: 2}\nb: 3\n", 1, 13},
		{"doc: [x y, \"z\" w]\nb: 3\n", 1, 16},
		{"a: b: c\nd: 1\n", 1, 5},
		{"a: 1\n  b: 2\nc: 1\n", 2, 4},
		{"a:\n  b: 1\n c: 2\nd: 1\n", 3, 2},
		{"doc: ä\na: @foo\nb: 1\n", 2, 4},
		{"ä: @foo\nb: 1\n", 1, 4},
		{"a: \"not closed\nb: 1\nc: 2\n", 1, 4},
		{"a: [x,\n  y\n", 1, 4},
		{"a: \"bad \\q escape\"\nb: 1\n", 1, 9},
		{"- a\nb: 1\n", 2, 1},
		{"a: 'x' y\nb: 1\n", 1, 8},
		{"a: |x\n foo\nb: 1\n", 1, 5},
		{"key\nb: 1\nc: 2\n", 2, 2},
		{"a: ]\nb: 1\n", 1, 4},
		{"a: {b: 1}}\nb: 1\n", 1, 10},
		{"a: 1\nb: # {\n  - x\n  y: 1\n", 4, 3},
	} {
		_, err := load.Bytes("a.yaml", []byte(tc.text))
		var e *load.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Msg, "YAML syntax: ") {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if e.Pos != (load.Pos{Line: tc.line, Col: tc.col}) {
			t.Errorf("%q: found at %v, want %d:%d (%s)", tc.text, e.Pos, tc.line, tc.col, e.Msg)
		}
	}
}
