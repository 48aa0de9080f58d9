// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package memory provides the memory that transfers touch: page-aligned arenas
// outside the Go heap, with guards around them.
//
// The promise: an arena's bytes never move, are never seen by the garbage
// collector, and stay mapped until [Arena.Close]. Each arena lies between two
// canary ranges, so that a copy that ran past an end is found by
// [Arena.Check], and beyond those between two unmapped guards, so that one
// that ran far faults.
//
// # What the caller does
//
//  1. Close an arena only when nothing owns any of it: no registration, no
//     claim, no peer that may still write. The package cannot know.
//  2. Use no slice of an arena after Close: its addresses may be mapped anew.
//
// # Concurrency
//
// All methods may be called from any goroutine, but the bytes themselves are
// as unguarded as any slice. The race detector does not watch memory outside
// the Go heap.
package memory

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// HugePageSize is the alignment and granularity of huge pages, in bytes.
const HugePageSize = 2 << 20

// MaxLen is the longest arena, in bytes: 1 TiB, or 1 GiB where int has 32 bits.
// A size beyond it is a mistake in a unit, not a wish.
const MaxLen = 1 << (30 + 10*(^uint(0)>>63))

// Spec describes an arena.
type Spec struct {
	// Len is the usable length in bytes, 1 to MaxLen. It need not be a
	// multiple of the page size; the rest of the last page is canary.
	Len int
	// HugePages asks for 2 MiB pages where whole ones fit. It is a wish:
	// Arena.HugePages tells what came of it.
	HugePages bool
	// Prefault touches every page now, so that no first access pays for it.
	Prefault bool

	_ struct{}
}

// Arena is one mapped range. The zero value is a closed arena.
type Arena struct {
	mu      sync.RWMutex
	mapping []byte // guarded by mu; the whole mapping with guards; nil when closed
	data    []byte // guarded by mu
	before  []byte // guarded by mu; canary before data
	after   []byte // guarded by mu; canary after data, its start not page-aligned
	huge    HugePages
	holds   int // guarded by mu
}

// New maps an arena of zero bytes. A bad length is a *SizeError; a refusal of
// the system is a *MapError; ErrUnsupported says that this system has no mmap
// that the package knows.
func New(spec Spec) (*Arena, error) {
	if spec.Len <= 0 || spec.Len > MaxLen {
		return nil, &SizeError{What: "arena", Size: spec.Len, Max: MaxLen}
	}
	l := layoutFor(spec.Len, spec.HugePages)
	mapping, err := mapGuarded(l.total)
	if err != nil {
		return nil, &MapError{Len: spec.Len, Call: "mmap", Err: err}
	}
	start := l.dataStart(addrOf(mapping))
	first, end := start-l.page, start+roundUp(spec.Len, l.page)+l.page
	if err := makeUsable(mapping[first:end]); err != nil {
		err = &MapError{Len: spec.Len, Call: "mprotect", Err: err}
		return nil, errors.Join(err, unmap(mapping))
	}
	a := &Arena{
		mapping: mapping,
		data:    mapping[start : start+spec.Len : start+spec.Len],
		before:  mapping[first:start:start],
		after:   mapping[start+spec.Len : end : end],
	}
	a.huge = adviseHuge(spec.HugePages, a.data)
	paintCanary(a.before)
	paintCanary(a.after)
	if spec.Prefault {
		for i := 0; i < len(a.data); i += l.page {
			a.data[i] = 0
		}
	}
	return a, nil
}

// Len is the usable length in bytes; 0 once closed.
func (a *Arena) Len() int { return len(a.Bytes()) }

// Addr is the page-aligned address of the first byte; 0 once closed.
func (a *Arena) Addr() uintptr {
	b := a.Bytes()
	if len(b) == 0 {
		return 0
	}
	return addrOf(b)
}

// Bytes is the whole usable range, without copying; nil once closed. Its
// capacity ends with it, so append cannot reach the canary.
func (a *Arena) Bytes() []byte {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.data
}

// HugePages tells what came of the wish for huge pages.
func (a *Arena) HugePages() HugePages { return a.huge }

// Hold keeps the arena mapped until release is called, which does nothing when
// called again. A registration holds it: what hardware may reach must not be
// unmapped (contract section 7). The error is ErrClosed.
func (a *Arena) Hold() (release func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mapping == nil {
		return nil, ErrClosed
	}
	a.holds++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.holds--
	}), nil
}

// Close unmaps the arena. While it is held the error matches ErrHeld, and it
// stays mapped. Closing twice is fine.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.mapping == nil:
		return nil
	case a.holds > 0:
		return fmt.Errorf("%w: %#x+%d, by %d registrations", ErrHeld, addrOf(a.data), len(a.data), a.holds)
	}
	if err := unmap(a.mapping); err != nil {
		return &MapError{Len: len(a.data), Call: "munmap", Err: err}
	}
	a.mapping, a.data, a.before, a.after = nil, nil, nil, nil
	return nil
}

// String names the arena in logs: its address and length.
func (a *Arena) String() string {
	if a.Len() == 0 {
		return "closed arena"
	}
	return fmt.Sprintf("arena %#x+%d", a.Addr(), a.Len())
}

// layout is the plan of a mapping, in bytes: guard, canary page, data rounded
// up to pages, canary page, guard. Guards absorb what alignment leaves over.
type layout struct {
	page, align, total int
}

func layoutFor(length int, huge bool) layout {
	l := layout{page: os.Getpagesize()}
	l.align = l.page
	if huge {
		l.align = max(HugePageSize, l.page)
	}
	l.total = roundUp(length, l.page) + 4*l.page + l.align
	return l
}

// dataStart is the offset of the first usable byte in a mapping at base.
func (l layout) dataStart(base uintptr) int {
	return roundUp(int(base%uintptr(l.align))+2*l.page, l.align) - int(base%uintptr(l.align))
}

// roundUp returns the least multiple of unit that is not below n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// addrOf is the address of the first byte of b, which must not be empty.
func addrOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
