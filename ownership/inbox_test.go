// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// TestInbox: evidence comes out once, in the order of its times, and at equal times in
// that of the calls.
func TestInbox(t *testing.T) {
	var i inbox
	for round := range 4 {
		var put []*arrival
		for _, at := range []time.Duration{3, 1, 0, 1, 1 << 62, 1, 0}[min(round*2, 5):] {
			put = append(put, &arrival{evidence: evidence{at: at}})
			i.put(put[len(put)-1])
		}
		slices.SortStableFunc(put, func(a, b *arrival) int {
			return cmp.Compare(a.at, b.at)
		})
		if got := i.take(); !slices.Equal(got, put) {
			t.Fatalf("round %d: %d arrivals, or in another order", round, len(got))
		}
		if got := i.take(); got != nil {
			t.Fatalf("round %d: %d arrivals come out again", round, len(got))
		}
	}
}
