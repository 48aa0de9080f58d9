// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/draw"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestSystemPage: the page of a system names everything that the spec has, each in a
// table row of the right width.
func TestSystemPage(t *testing.T) {
	set, err := load.Dir("../check/testdata/bench")
	if err != nil {
		t.Fatal(err)
	}
	s := set.Lookup("bench").(*load.System)
	page := string(draw.Page(s, "spec/bench.yaml", ""))
	var names []string
	for _, v := range s.Vars {
		names = append(names, v.Name+" | ")
	}
	for _, a := range s.Actions {
		names = append(names, a.Name+"(")
	}
	for _, p := range s.Properties {
		names = append(names, p.Name+" | ")
	}
	names = append(names, "[bench_claim](bench_claim.md)", "A system.", "## The outside world", "known not to hold",
		"`released \\|\\| invalid`", "bool for each of writers | hidden")
	for _, name := range names {
		if !strings.Contains(page, name) {
			t.Errorf("the page lacks %q", name)
		}
	}
	width := 0
	for line := range strings.Lines(page) {
		bars := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|")
		if !strings.HasPrefix(line, "|") {
			width = 0
		} else if width != 0 && bars != width {
			t.Errorf("a row of another width: %s", line)
		} else {
			width = bars
		}
	}
}
