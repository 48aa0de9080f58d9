// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"math"
	"sync"
)

// MaxBlocks is how many blocks a pool may have.
const MaxBlocks = math.MaxInt32

// Pool is the allocator over a fixed number of blocks. It keeps numbers and no
// memory. All methods may be called from any goroutine.
type Pool struct {
	mu sync.Mutex // guards everything below

	blocks []state
	free   ring // numbers of the blocks that nobody pins

	pins   []pin             // by slot; slot 0 is nobody's
	spare  []uint32          // slots of pins that are over
	named  map[uint64]uint32 // slot of each live pin, by sequence
	issued uint64            // the sequence given latest

	mark   uint32 // of the batch that is looked at; see state.mark
	stale  uint64
	frozen bool
	closed bool
}

// state is one block. Counts are of pins.
type state struct {
	generation uint32
	holds      uint32
	reads      uint32
	readers    uint32 // the slots of all Reads, xored: with one Read, its slot
	writer     uint32 // slot of the Write, 0 for none
	mark       uint32 // equals Pool.mark if the present batch has named the block
}

func (s *state) pinned() bool { return s.holds|s.reads|s.writer != 0 }

// New makes a pool of count blocks, 1 to MaxBlocks, all of them free.
func New(count int) (*Pool, error) {
	if count < 1 || count > MaxBlocks {
		return nil, &Error{Kind: ErrInvalid, Why: fmt.Sprintf("%d blocks, allowed are 1 to %d", count, MaxBlocks)}
	}
	return &Pool{
		blocks: make([]state, count), free: newRing(count), pins: make([]pin, 1), named: map[uint64]uint32{},
	}, nil
}

// open refuses every change once the pool takes none.
func (p *Pool) open(n Name) *Error {
	switch {
	case p.frozen:
		return &Error{Kind: ErrFrozen, Pin: n}
	case p.closed:
		return &Error{Kind: ErrClosed, Pin: n}
	}
	return nil
}

// begin starts a batch: no block and no pin has been named in it.
func (p *Pool) begin() {
	if p.mark++; p.mark != 0 {
		return
	}
	for i := range p.blocks {
		p.blocks[i].mark = 0
	}
	for i := range p.pins {
		p.pins[i].mark = 0
	}
	p.mark = 1
}

// find returns the state of a block in its present allocation, and notes that
// the batch has named it.
func (p *Pool) find(n Name, b Block) (*state, *Error) {
	if int64(b.Number) >= int64(len(p.blocks)) {
		return nil, &Error{Kind: ErrRange, Pin: n, Block: b, Why: fmt.Sprintf("the pool has %d", len(p.blocks))}
	}
	s := &p.blocks[b.Number]
	switch {
	case s.generation != b.Generation:
		p.stale++
		return nil, &Error{Kind: ErrStale, Pin: n, Block: b, Why: fmt.Sprintf("its generation is %d now", s.generation)}
	case s.mark == p.mark:
		return nil, &Error{Kind: ErrRepeated, Pin: n, Block: b}
	case !s.pinned():
		p.stale++
		return nil, &Error{Kind: ErrStale, Pin: n, Block: b, Why: "it is free"}
	}
	s.mark = p.mark
	return s, nil
}

// Freeze makes everything stay as it is, for good: nothing is given out, pinned
// or unpinned any more. It is for a registry that is FATAL (contract §6).
func (p *Pool) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// Close ends the pool, so that its memory may be deregistered. While anything
// is pinned the error matches ErrPinned and names the oldest pin; ErrFrozen
// after Freeze. Closing again is fine.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen {
		return &Error{Kind: ErrFrozen}
	}
	if err := p.idle(); err != nil {
		return err
	}
	p.closed = true
	return nil
}

// Idle returns an error that matches ErrPinned and names the oldest pin, or nil
// if nothing is pinned.
func (p *Pool) Idle() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.idle(); err != nil {
		return err
	}
	return nil
}

func (p *Pool) idle() *Error {
	var oldest *pin
	for slot := range p.pins {
		if k := &p.pins[slot]; k.live > 0 && (oldest == nil || k.name.Sequence < oldest.name.Sequence) {
			oldest = k
		}
	}
	if oldest == nil {
		return nil
	}
	why := fmt.Sprintf("it keeps %d blocks for %v; %d pins in all", oldest.live, oldest.use, len(p.named))
	return &Error{Kind: ErrPinned, Pin: oldest.name, By: oldest.name, Why: why}
}
