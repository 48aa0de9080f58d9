// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// TestHeard: each claim has its own time and event, in the room of a word and four bits.
func TestHeard(t *testing.T) {
	for n := 1; n <= MaxAccessors+1; n++ {
		h := newHeard(n, 7*second)
		if want := n + (n+15)/16; len(h) != want {
			t.Fatalf("%d claims take %d words, want %d", n, len(h), want)
		}
		for i := range n {
			if h.since(i) != 7*second || h.by(i) != 0 {
				t.Fatalf("claim %d of %d is new since %v, by %v", i, n, h.since(i), h.by(i))
			}
		}
		for round := range 2 {
			at := func(i int) time.Duration { return time.Duration(n*1000 + i*10 + round) }
			event := func(i int) claim.Event { return claim.Event(1 + (i*5+round)%int(claim.Fence)) }
			for i := range n {
				h.set(i, at(i), event(i))
			}
			for i := range n {
				if h.since(i) != at(i) || h.by(i) != event(i) {
					t.Fatalf("claim %d of %d: since %v by %v, want %v by %v", i, n, h.since(i), h.by(i), at(i), event(i))
				}
			}
		}
	}
}
