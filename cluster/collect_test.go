// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/ownership"
)

// One deletion takes no more segments off the list than are in its ranges: what is
// left of many former lives is for the next one.
func TestRangesCoverWhatTheyCount(t *testing.T) {
	k := keys{"/g/"}
	for _, lives := range []int{1, maxRanges, maxRanges + 1, 3 * maxRanges} {
		t.Run(fmt.Sprint(lives), func(t *testing.T) {
			var list []written
			for range lives {
				life := ownership.NewIncarnation()
				for n := range uint64(3) {
					list = append(list, written{key: k.segment(0, life, n+1)})
				}
			}
			ranges, n := rangesOf(list)
			if len(ranges) > maxRanges || n != 3*min(lives, maxRanges) {
				t.Fatalf("%d ranges of %d segments", len(ranges), n)
			}
			for _, w := range list[:n] {
				covered := false
				for _, r := range ranges {
					covered = covered || w.key >= r.From && w.key < r.To
				}
				if !covered {
					t.Fatalf("%s is in no range", w.key)
				}
			}
		})
	}
}
