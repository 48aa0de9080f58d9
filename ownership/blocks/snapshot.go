// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"cmp"
	"slices"
)

// Stats are the pool's numbers, at one moment.
type Stats struct {
	Blocks int // in all
	Free   int // pinned by nobody
	Pins   int // live ones
	// Stale counts the calls refused with ErrStale since New.
	Stale uint64
}

// Stats returns the pool's numbers.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Blocks: len(p.blocks), Free: p.free.n, Pins: len(p.named), Stale: p.stale}
}

// BlockState is one block, at one moment.
type BlockState struct {
	Block Block // with its present generation; 0 where it was never allocated
	Holds int
	Reads int
	// Writer is the pin that writes, zero for none.
	Writer Name
}

// Free reports whether nobody pins the block.
func (s BlockState) Free() bool { return s.Holds == 0 && s.Reads == 0 && s.Writer == (Name{}) }

// Block returns the state of a block, and false if there is no such number.
func (p *Pool) Block(number uint32) (BlockState, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int64(number) >= int64(len(p.blocks)) {
		return BlockState{}, false
	}
	s := &p.blocks[number]
	return BlockState{
		Block: Block{Number: number, Generation: s.generation},
		Holds: int(s.holds), Reads: int(s.reads), Writer: p.pins[s.writer].name,
	}, true
}

// PinState is one live pin, at one moment.
type PinState struct {
	Name   Name
	Use    Use
	Blocks int // that it has not unpinned
}

// Pins returns all live pins, the oldest first. It is for explaining: it costs
// time in proportion to all that are live.
func (p *Pool) Pins() []PinState {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]PinState, 0, len(p.named))
	for _, slot := range p.named {
		k := &p.pins[slot]
		list = append(list, PinState{Name: k.name, Use: k.use, Blocks: k.live})
	}
	slices.SortFunc(list, func(a, b PinState) int { return cmp.Compare(a.Name.Sequence, b.Name.Sequence) })
	return list
}
