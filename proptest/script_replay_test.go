// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/scenario"
)

// A written scenario is the run that it was written from: replayed, each step
// ends in the same way, and everything ends as the model has it.
func TestScriptsReplay(t *testing.T) {
	owners := rapid.Custom(func(t *rapid.T) *world { return liveOwner(t).world })
	houses := rapid.Custom(func(t *rapid.T) *world { return liveRegistry(t).world })
	replayed := 0
	for seed := range 150 {
		for _, w := range []*world{owners.Example(seed), houses.Example(seed)} {
			if slices.ContainsFunc(w.script.steps, func(l line) bool { return l.remark }) || w.model.Config.Requests > 0 {
				continue // it did what no step expresses
			}
			text := w.script.text(w)
			f, err := scenario.Parse("script", []byte(text))
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			report, err := scenario.Run(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Err(); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			replayed++
		}
	}
	if replayed < 50 {
		t.Errorf("%d scripts were replayed: too many do what no step expresses", replayed)
	}
}
