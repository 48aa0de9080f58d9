// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
)

// Region is who owns a slot: what transfer.Region and an ownership registry
// answer. Reuse is nil only when no claim on the slot is left, of a peer or our
// own, and it was released (contract section 7).
type Region interface {
	Reuse() error
}

// Bounce is memory cut into slots of one size, through which blocks pass on
// their way to a peer, or from one. Each slot is a region of its own: it goes
// to the next user only when its owner says so.
type Bounce struct {
	memory  Memory
	size    int
	release func()
	regions []Region

	mu     sync.Mutex
	free   []int // guarded by mu; numbers of free slots
	closed bool  // guarded by mu
}

// NewBounce cuts a memory into slots of size bytes and asks for a region for
// each, in order; the memory is held until Close. What is left over at the end
// is not used.
func NewBounce(m Memory, size int, region func(slot int, e Extent) (Region, error)) (*Bounce, error) {
	if m == nil || size <= 0 || m.Len() < size || region == nil {
		return nil, fmt.Errorf("%w: gather: bounce slots of %d bytes", backend.ErrInvalid, size)
	}
	release, err := m.Hold()
	if err != nil {
		return nil, fmt.Errorf("%w: gather: bounce: %w", backend.ErrInvalid, err)
	}
	b := &Bounce{memory: m, size: size, release: release}
	for i := range m.Len() / size {
		r, err := region(i, b.extent(i))
		if err != nil {
			release()
			return nil, fmt.Errorf("gather: bounce slot %d: %w", i, err)
		}
		b.regions = append(b.regions, r)
	}
	for i := len(b.regions) - 1; i >= 0; i-- {
		b.free = append(b.free, i)
	}
	return b, nil
}

func (b *Bounce) extent(i int) Extent {
	return Extent{Memory: b.memory, Offset: i * b.size, Len: b.size}
}

// Slots is how many slots there are.
func (b *Bounce) Slots() int { return len(b.regions) }

// Free is how many slots are free.
func (b *Bounce) Free() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.free)
}

// Lease takes a slot. Errors: [ErrFull], [backend.ErrClosed].
func (b *Bounce) Lease() (*Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, backend.ErrClosed
	}
	n := len(b.free)
	if n == 0 {
		return nil, ErrFull
	}
	i := b.free[n-1]
	b.free = b.free[:n-1]
	return &Lease{bounce: b, slot: i}, nil
}

// Close lets go of the memory; [backend.ErrInFlight] while a slot is leased.
// The regions are the caller's to deregister. Closing twice is fine.
func (b *Bounce) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	if n := len(b.regions) - len(b.free); n > 0 {
		return fmt.Errorf("%w: %d bounce slots are leased", backend.ErrInFlight, n)
	}
	b.closed = true
	b.release()
	return nil
}

// Lease is one use of a slot.
type Lease struct {
	bounce *Bounce
	slot   int

	mu       sync.Mutex
	returned bool // guarded by mu
}

// Slot is the number of the slot.
func (l *Lease) Slot() int { return l.slot }

// Region is the slot's owner, as the caller made it.
func (l *Lease) Region() Region { return l.bounce.regions[l.slot] }

// Buffer is the first n bytes of the slot; what does not fit is an [ExtentError].
// After a return the slot may be somebody else's: [ErrReturned].
func (l *Lease) Buffer(n int) (Extent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned {
		return Extent{}, ErrReturned
	}
	if n <= 0 || n > l.bounce.size {
		return Extent{}, &ExtentError{"buffer", 0, fmt.Sprintf("of %d bytes in a slot of %d", n, l.bounce.size)}
	}
	e := l.bounce.extent(l.slot)
	e.Len = n
	return e, nil
}

// Return gives the slot back. It asks the owner, and nobody else: while a claim
// is left the error is the owner's, the slot stays leased, and Return may be
// called again. A second return is [ErrReturned].
func (l *Lease) Return() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned {
		return ErrReturned
	}
	if err := l.Region().Reuse(); err != nil {
		return fmt.Errorf("gather: bounce slot %d stays leased: %w", l.slot, err)
	}
	l.returned = true
	b := l.bounce
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, l.slot)
	return nil
}
