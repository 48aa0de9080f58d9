// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"fmt"
	"slices"
)

// Memory is what blocks and buffers are parts of: an arena of package memory,
// or memory of package cuda. It never lies on the Go heap.
type Memory interface {
	Addr() uintptr
	Len() int
	Hold() (release func(), err error)
}

// Extent is a part of a memory: a block, or a buffer.
type Extent struct {
	Memory Memory
	Offset int // bytes
	Len    int // bytes, > 0
}

func (e Extent) addr() uint64 { return uint64(e.Memory.Addr()) + uint64(e.Offset) }
func (e Extent) end() uint64  { return e.addr() + uint64(e.Len) }

func (e Extent) overlaps(o Extent) bool { return e.addr() < o.end() && o.addr() < e.end() }

// String is the range of addresses.
func (e Extent) String() string { return fmt.Sprintf("%#x+%d", e.addr(), e.Len) }

// check is nil for an extent that lies in its memory.
func (e Extent) check(what string, index int) error {
	bad := func(format string, args ...any) error {
		return &ExtentError{What: what, Index: index, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case e.Memory == nil:
		return bad("has no memory")
	case e.Len <= 0:
		return bad("has %d bytes", e.Len)
	case e.Offset < 0 || e.Offset > e.Memory.Len()-e.Len:
		return bad("of %d bytes at %d is not inside its memory of %d", e.Len, e.Offset, e.Memory.Len())
	}
	return nil
}

// disjoint refuses extents of which two overlap. Most lists are in order.
func disjoint(what string, list []Extent) error {
	overlap := func(i, j int) error {
		return &ExtentError{what, j, fmt.Sprintf("(%v) overlaps number %d (%v)", list[j], i, list[i])}
	}
	inOrder := true
	for i := 1; i < len(list) && inOrder; i++ {
		inOrder = list[i-1].end() <= list[i].addr()
	}
	if inOrder {
		return nil
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(list[i].addr(), list[j].addr()) })
	for k := 1; k < len(order); k++ {
		if i, j := order[k-1], order[k]; list[i].overlaps(list[j]) {
			return overlap(min(i, j), max(i, j))
		}
	}
	return nil
}

// Split cuts a buffer into extents of these sizes, one for each writer. The
// sizes must make up the buffer exactly.
func Split(buffer Extent, sizes []int) ([]Extent, error) {
	if err := buffer.check("buffer", 0); err != nil {
		return nil, err
	}
	parts, at := make([]Extent, len(sizes)), 0
	for i, n := range sizes {
		if n <= 0 || n > buffer.Len-at {
			return nil, &ExtentError{"writer", i, fmt.Sprintf("has %d bytes at %d of a buffer of %d", n, at, buffer.Len)}
		}
		parts[i] = Extent{Memory: buffer.Memory, Offset: buffer.Offset + at, Len: n}
		at += n
	}
	if at != buffer.Len {
		return nil, &ExtentError{"buffer", 0, fmt.Sprintf("has %d bytes, its writers %d", buffer.Len, at)}
	}
	return parts, nil
}

// CheckWriters refuses extents of several writers that do not make up the
// buffer exactly: each byte of it belongs to one extent of one writer. Whoever
// tells writers where to write calls it before he does.
func CheckWriters(buffer Extent, writers [][]Extent) error {
	if err := buffer.check("buffer", 0); err != nil {
		return err
	}
	var all []Extent
	sum := 0
	for w, list := range writers {
		what := fmt.Sprintf("writer %d block", w)
		for i, e := range list {
			if err := e.check(what, i); err != nil {
				return err
			}
			if e.addr() < buffer.addr() || e.end() > buffer.end() {
				return &ExtentError{what, i, fmt.Sprintf("(%v) is not inside the buffer (%v)", e, buffer)}
			}
			sum += e.Len
		}
		all = append(all, list...)
	}
	if err := disjoint("writers' block", all); err != nil {
		return err
	}
	if sum != buffer.Len {
		return &ExtentError{"buffer", 0, fmt.Sprintf("has %d bytes, its writers %d", buffer.Len, sum)}
	}
	return nil
}
