// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"
)

// ranges holds the regions with a known address, in its order. No two of them
// overlap: one range of bytes has one region that answers for it.
type ranges []*region

// overlapping returns a region other than self that has a byte of spec's.
func (l ranges) overlapping(spec RegionSpec, self *region) *region {
	if spec.Addr == 0 || spec.Len == 0 {
		return nil
	}
	i, _ := l.find(spec.Addr)
	for i = max(0, i-1); i < len(l) && l[i].addr < spec.Addr+spec.Len; i++ {
		if g := l[i]; g != self && g.addr+g.len > spec.Addr {
			return g
		}
	}
	return nil
}

func (l ranges) find(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(l, addr, func(g *region, a uint64) int { return cmp.Compare(g.addr, a) })
}

func (l *ranges) insert(g *region) {
	if g.addr != 0 && g.len != 0 {
		i, _ := l.find(g.addr)
		*l = slices.Insert(*l, i, g)
	}
}

func (l *ranges) remove(g *region) {
	if i, found := l.find(g.addr); found && (*l)[i] == g {
		*l = slices.Delete(*l, i, i+1)
	}
}
