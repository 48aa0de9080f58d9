// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"fmt"
	"slices"
	"unsafe"
)

// CopySize is what one copy of a [CopyList] takes, in bytes: three numbers of
// 64 bits.
const CopySize = 24

// CopyList is a list of copies in pinned host memory, as both the driver's
// batch call and a kernel read it: first the n destination addresses, then the
// n source addresses, then the n lengths, each 64 bits wide.
//
// A CopyList is for one goroutine at a time.
type CopyList struct {
	memory           *Memory
	words            []uint64 // the memory
	capacity         int
	n, added         int
	uses             []*Memory // each once, the list's own first
	lastDst, lastSrc *Memory   // that were added to uses
}

// NewCopyList allocates a list for up to capacity copies.
func (c *Context) NewCopyList(capacity int) (*CopyList, error) {
	if capacity <= 0 || capacity > 1<<30 {
		return nil, fmt.Errorf("%w: list for %d copies", ErrArgument, capacity)
	}
	m, err := c.AllocHost(capacity * CopySize)
	if err != nil {
		return nil, err
	}
	words := unsafe.Slice((*uint64)(at(m.addr)), capacity*CopySize/8)
	return &CopyList{memory: m, words: words, capacity: capacity}, nil
}

// Begin empties the list for exactly n copies. While work that was given the
// list is not proven to have ended, the error is [ErrInFlight].
func (l *CopyList) Begin(n int) error {
	if n <= 0 || n > l.capacity {
		return fmt.Errorf("%w: %d copies in a list for %d", ErrArgument, n, l.capacity)
	}
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	if l.memory.holds > 0 {
		return fmt.Errorf("%w: list of copies", ErrInFlight)
	}
	if l.memory.closed {
		return fmt.Errorf("%w: list of copies", ErrClosed)
	}
	l.n, l.added, l.uses, l.lastDst, l.lastSrc = n, 0, append(l.uses[:0], l.memory), nil, nil
	return nil
}

// Append adds a copy. The ranges are of the same length and do not overlap;
// that copies do not overlap each other is the caller's to see to.
func (l *CopyList) Append(dst, src Range) error { return l.AppendPieces(dst, src, 0) }

// AppendPieces adds a copy as pieces of at most this many bytes, each a copy of
// its own; 0 is no limit.
func (l *CopyList) AppendPieces(dst, src Range, piece int) error {
	if err := checkCopy(dst, src); err != nil {
		return err
	}
	length := src.len
	if piece > 0 {
		length = min(length, uint64(piece))
	}
	if room := uint64(l.n - l.added); (src.len+length-1)/length > room {
		return fmt.Errorf("%w: %d copies are too many for a list of %d", ErrArgument, uint64(l.added)+(src.len+length-1)/length, l.n)
	}
	to, from := dst.Addr(), src.Addr()
	for left := src.len; left > 0; left -= length {
		length = min(length, left)
		l.words[l.added], l.words[l.n+l.added], l.words[2*l.n+l.added] = to, from, length
		l.added++
		to, from = to+length, from+length
	}
	if dst.memory != l.lastDst {
		l.lastDst = dst.memory
		l.use(dst.memory)
	}
	if src.memory != l.lastSrc {
		l.lastSrc = src.memory
		l.use(src.memory)
	}
	return nil
}

func (l *CopyList) use(m *Memory) {
	if !slices.Contains(l.uses, m) {
		l.uses = append(l.uses, m)
	}
}

// Len is how many copies the list has.
func (l *CopyList) Len() int { return l.added }

// Table is the part of the list's memory that is filled, for a kernel.
func (l *CopyList) Table() Range { return Range{memory: l.memory, len: uint64(l.n * CopySize)} }

// Uses lists the memory that the copies touch, and the list's own.
func (l *CopyList) Uses() []*Memory { return slices.Clone(l.uses) }

func (l *CopyList) complete() error {
	if l.n == 0 || l.added != l.n {
		return fmt.Errorf("%w: list has %d copies of %d", ErrArgument, l.added, l.n)
	}
	return nil
}

func (l *CopyList) arrays() (dst, src, length uint64) {
	stride := uint64(8 * l.n)
	return l.memory.addr, l.memory.addr + stride, l.memory.addr + 2*stride
}

// Free frees the list's memory, as [Memory.Free].
func (l *CopyList) Free() error { return l.memory.Free() }
