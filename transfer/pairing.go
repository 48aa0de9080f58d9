// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Block is one range of a region, in bytes.
type Block struct{ Offset, Len uint64 }

// segments checks blocks against a region and returns them as addresses. No
// blocks means the whole region.
func segments(r *Region, blocks []Block) ([]backend.Segment, error) {
	base, size := uint64(r.memory.Addr), r.memory.Len
	if r.pinned != nil {
		size = r.pinned.size()
	}
	if len(blocks) == 0 {
		blocks = []Block{{Len: size}}
	}
	out := make([]backend.Segment, 0, len(blocks))
	for i, b := range blocks {
		if b.Len == 0 || b.Offset > size || b.Len > size-b.Offset {
			return nil, invalid("region "+r.id, "block %d, %d bytes at offset %d, is not inside of its %d bytes", i, b.Len, b.Offset, size)
		}
		if r.pinned != nil {
			out = r.pinned.segments(out, b.Offset, b.Len)
		} else {
			out = append(out, backend.Segment{Addr: base + b.Offset, Len: b.Len})
		}
	}
	return out, nil
}

// apart refuses destinations that share bytes: one would be written over the
// other, and the answer would still be that both were delivered.
func apart(r *Region, list []backend.Segment) error {
	byAddr := func(a, b backend.Segment) int { return cmp.Compare(a.Addr, b.Addr) }
	if !slices.IsSortedFunc(list, byAddr) {
		list = slices.SortedFunc(slices.Values(list), byAddr)
	}
	for i := 1; i < len(list); i++ {
		if a, b := list[i-1], list[i]; a.Addr+a.Len > b.Addr {
			return invalid("region "+r.id, "two blocks of one source overlap at offset %d", b.Addr-uint64(r.memory.Addr))
		}
	}
	return nil
}

// pair cuts two lists of equal total length at each other's boundaries, so that
// segment i of one has the length of segment i of the other. Lists that already
// fit are returned as they are.
func pair(local, remote []backend.Segment) (l, r []backend.Segment, err error) {
	if lt, rt := total(local), total(remote); lt != rt {
		return nil, nil, fmt.Errorf("%d bytes given for a request of %d", lt, rt)
	}
	if fit(local, remote) {
		return local, remote, nil
	}
	var lo, ro uint64 // bytes of local[0] and remote[0] already paired
	for len(local) > 0 && len(remote) > 0 {
		n := min(local[0].Len-lo, remote[0].Len-ro)
		l = append(l, backend.Segment{Addr: local[0].Addr + lo, Len: n})
		r = append(r, backend.Segment{Addr: remote[0].Addr + ro, Len: n})
		if lo += n; lo == local[0].Len {
			local, lo = local[1:], 0
		}
		if ro += n; ro == remote[0].Len {
			remote, ro = remote[1:], 0
		}
	}
	return l, r, nil
}

func fit(a, b []backend.Segment) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Len != b[i].Len {
			return false
		}
	}
	return true
}

func total(list []backend.Segment) (n uint64) {
	for _, s := range list {
		n += s.Len
	}
	return n
}

func wireSegments(list []backend.Segment) []wire.Segment {
	out := make([]wire.Segment, len(list))
	for i, s := range list {
		out[i] = wire.Segment(s)
	}
	return out
}

func backendSegments(list []wire.Segment) []backend.Segment {
	out := make([]backend.Segment, len(list))
	for i, s := range list {
		out[i] = backend.Segment(s)
	}
	return out
}
