// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"reflect"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A lie is a valid message with other lengths, or beyond the end; what was given is not
// touched, and no other message is.
func TestLiesStateOtherLengths(t *testing.T) {
	n := &node{}
	const base, each = 1 << 20, 1 << 12
	honest := wire.RequestData{Segments: []wire.Segment{{Addr: base, Len: each}, {Addr: base + each, Len: each}}}
	given := slices.Clone(honest.Segments)
	if got := n.changed(honest); !reflect.DeepEqual(got, honest) {
		t.Fatalf("without a lie: %v", got)
	}
	n.lies.Store(true)
	if got := n.changed(wire.Goodbye{}); got != (wire.Goodbye{}) {
		t.Errorf("another message: %v", got)
	}
	kinds := map[string]int{}
	for range 8 {
		lie := n.changed(honest).(wire.RequestData)
		last, total := lie.Segments[len(lie.Segments)-1], uint64(0)
		for _, s := range lie.Segments {
			total += s.Len
		}
		beyond := last.Addr+last.Len > base+2*each
		switch {
		case total < 2*each && !beyond:
			kinds["shorter"]++
		case total > 2*each && beyond:
			kinds["longer"]++
		case total == 2*each && beyond:
			kinds["beyond"]++
		default:
			t.Errorf("no lie: %v", lie.Segments)
		}
	}
	if !reflect.DeepEqual(kinds, map[string]int{"shorter": 4, "longer": 2, "beyond": 2}) {
		t.Errorf("%v", kinds)
	}
	if !slices.Equal(honest.Segments, given) {
		t.Error("the message that was given has changed")
	}
}
