// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"testing"

	"pgregory.net/rapid"
)

// A step is one call to library and model, with the comparison of everything.
func BenchmarkOwner(b *testing.B) {
	benchmark(b, rapid.Custom(func(t *rapid.T) *world { return liveOwner(t).world }))
}

func BenchmarkRegistry(b *testing.B) {
	benchmark(b, rapid.Custom(func(t *rapid.T) *world { return liveRegistry(t).world }))
}

func benchmark(b *testing.B, lives *rapid.Generator[*world]) {
	steps := 0
	for seed := 0; b.Loop(); seed++ {
		steps += lives.Example(seed).steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Minutes(), "steps/min")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
