// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda/gather"
)

func TestExtentsAreExact(t *testing.T) {
	m, b := arena(t, 4096), arena(t, 4096)
	for name, c := range map[string]struct {
		spec    gather.Spec
		scatter bool // refused for a scatter alone
		says    string
	}{
		"no buffer":     {gather.Spec{Blocks: []gather.Extent{part(m, 0, 1)}}, false, "buffer has no memory"},
		"no blocks":     {gather.Spec{Buffer: part(b, 0, 8)}, false, "buffer has 8 bytes, its blocks 0"},
		"no memory":     {gather.Spec{Buffer: part(b, 0, 8), Blocks: []gather.Extent{{Len: 8}}}, false, "block 0 has no memory"},
		"empty":         {gather.Spec{Buffer: part(b, 0, 8), Blocks: []gather.Extent{part(m, 0, 8), part(m, 9, 0)}}, false, "block 1 has 0 bytes"},
		"negative":      {gather.Spec{Buffer: part(b, 0, 8), Blocks: []gather.Extent{part(m, -1, 8)}}, false, "block 0 of 8 bytes at -1"},
		"beyond":        {gather.Spec{Buffer: part(b, 0, 8), Blocks: []gather.Extent{part(m, 4089, 8)}}, false, "block 0 of 8 bytes at 4089 is not inside its memory of 4096"},
		"overflow":      {gather.Spec{Buffer: part(b, 0, 8), Blocks: []gather.Extent{part(m, 1<<62, 1<<62)}}, false, "is not inside"},
		"buffer beyond": {gather.Spec{Buffer: part(b, 4095, 2), Blocks: []gather.Extent{part(m, 0, 2)}}, false, "buffer of 2 bytes at 4095"},
		"too little":    {gather.Spec{Buffer: part(b, 0, 9), Blocks: []gather.Extent{part(m, 0, 8)}}, false, "buffer has 9 bytes, its blocks 8"},
		"too much":      {gather.Spec{Buffer: part(b, 0, 7), Blocks: []gather.Extent{part(m, 0, 8)}}, false, "buffer has 7 bytes, its blocks 8"},
		"same memory":   {gather.Spec{Buffer: part(b, 4, 8), Blocks: []gather.Extent{part(b, 0, 8)}}, false, "overlaps the buffer"},
		"twice":         {gather.Spec{Buffer: part(b, 0, 16), Blocks: []gather.Extent{part(m, 64, 8), part(m, 64, 8)}}, true, "block 1"},
		"overlap":       {gather.Spec{Buffer: part(b, 0, 24), Blocks: []gather.Extent{part(m, 100, 8), part(m, 0, 8), part(m, 107, 8)}}, true, "overlaps number 0"},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, build := range map[bool]func(gather.Spec) (backend.Local, error){false: new(gather.CPU).Gather, true: new(gather.CPU).Scatter} {
				l, err := build(c.spec)
				if c.scatter && !kind { // a gather may read a block twice
					ok(t, err)
					ok(t, l.Release())
					continue
				}
				var ee *gather.ExtentError
				if !errors.As(err, &ee) || !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("scatter %v: %v, want %q", kind, err, c.says)
				}
			}
		})
	}
}

func TestSplit(t *testing.T) {
	b := arena(t, 4096)
	parts := got(gather.Split(part(b, 16, 60), []int{10, 20, 30}))(t)
	if !slices.Equal(parts, []gather.Extent{part(b, 16, 10), part(b, 26, 20), part(b, 46, 30)}) {
		t.Errorf("got %v", parts)
	}
	for says, sizes := range map[string][]int{
		"its writers 30":      {10, 20},
		"writer 2 has 31":     {10, 20, 31},
		"writer 1 has 0":      {60, 0},
		"writer 0 has -1":     {-1, 61},
		"writer 1 has 922337": {1, 1<<63 - 1},
	} {
		if _, err := gather.Split(part(b, 16, 60), sizes); !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", sizes, err)
		}
	}
}

func TestWritersAreExact(t *testing.T) {
	b, other := arena(t, 4096), arena(t, 4096)
	buffer := part(b, 100, 40)
	ok(t, gather.CheckWriters(buffer, [][]gather.Extent{{part(b, 120, 20)}, {part(b, 100, 5), part(b, 105, 15)}}))
	for says, writers := range map[string][][]gather.Extent{
		"overlaps number":                   {{part(b, 100, 20)}, {part(b, 119, 21)}},
		"its writers 39":                    {{part(b, 100, 20)}, {part(b, 120, 19)}},
		"its writers 0":                     nil,
		"writer 1 block 0 (":                {{part(b, 100, 20)}, {part(b, 121, 20)}},
		"writer 0 block 1 (":                {{part(b, 100, 20), part(b, 99, 1)}},
		"writer 0 block 0 has 0 bytes":      {{part(b, 100, 0)}},
		"writer 0 block 0 (0x":              {{part(other, 100, 40)}},
		"writer 0 block 0 of 1 bytes at -1": {{part(b, -1, 1)}},
	} {
		if err := gather.CheckWriters(buffer, writers); !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}
