// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import (
	"testing"

	"github.com/kvxfer/kvxfer/internal/nixlc"
	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// The price of safety: a poll pass over the same handles through the binding
// and straight through the C helper, with a library that answers at once.
func BenchmarkPoll10000(b *testing.B) {
	a := fakeAgent(b, nixltest.Wheel(b, "1.5.1"))
	requests := make([]*Request, 10_000)
	handles := make([]nixlc.Request, len(requests))
	for i := range requests {
		requests[i] = scripted(b, a, "post=1;status=1")
		if _, err := requests[i].Post(); err != nil {
			b.Fatal(err)
		}
		handles[i] = requests[i].handle
	}
	b.Run("binding", func(b *testing.B) {
		out := make([]Observation, len(requests))
		b.ReportAllocs()
		for b.Loop() {
			if err := a.Poll(requests, out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("raw", func(b *testing.B) {
		codes := make([]nixlc.Code, len(handles))
		b.ReportAllocs()
		for b.Loop() {
			a.lib.api.Poll(a.handle, handles, codes)
		}
	})
}
