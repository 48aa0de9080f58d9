// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"slices"
)

// pin is one claim on a set of blocks.
type pin struct {
	name  Name
	use   Use
	live  int      // blocks not unpinned yet
	table []uint32 // their numbers in the caller's order; unpinned where it was
	// index finds a block's place in table; built when a part is unpinned for
	// the first time, which costs no more than the pin did.
	index map[Block]int
	mark  uint32 // as state.mark
}

// unpinned stands in a pin's table for a block that it has no more.
const unpinned = ^uint32(0)

// keptTable bounds the memory of a pin that is over: a longer table is dropped.
const keptTable = 1 << 12

// Allocate fills table with free blocks, all or none, and pins them with Hold.
// Errors: ErrInvalid for no holder or an empty table, ErrExhausted, ErrFrozen,
// ErrClosed.
func (p *Pool) Allocate(holder string, table []Block) (Name, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admit(holder, Hold, len(table)); err != nil {
		return Name{}, err
	}
	if len(table) > p.free.n {
		why := fmt.Sprintf("%d asked for, %d of %d are free", len(table), p.free.n, len(p.blocks))
		return Name{}, &Error{Kind: ErrExhausted, Pin: Name{Holder: holder}, Why: why}
	}
	_, k := p.add(holder, Hold, len(table))
	for i := range table {
		number := p.free.pop()
		s := &p.blocks[number]
		if s.generation++; s.generation == 0 {
			s.generation = 1
		}
		s.holds = 1
		table[i] = Block{Number: number, Generation: s.generation}
		k.table = append(k.table, number)
	}
	return k.name, nil
}

// Pin claims allocated blocks once more, all or none: for another request that
// shares them, or for a transfer. The whole batch is judged before anything
// changes. Errors: ErrInvalid, ErrRange, ErrRepeated, ErrStale for a block
// whose allocation is over, ErrInUse, ErrFrozen, ErrClosed.
func (p *Pool) Pin(holder string, use Use, table []Block) (Name, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.admit(holder, use, len(table)); err != nil {
		return Name{}, err
	}
	p.begin()
	for _, b := range table {
		s, err := p.find(Name{Holder: holder}, b)
		if err == nil {
			err = p.conflict(s, use)
		}
		if err != nil {
			err.Pin, err.Block = Name{Holder: holder}, b
			return Name{}, err
		}
	}
	slot, k := p.add(holder, use, len(table))
	for _, b := range table {
		p.blocks[b.Number].take(use, slot)
		k.table = append(k.table, b.Number)
	}
	return k.name, nil
}

func (p *Pool) admit(holder string, use Use, n int) *Error {
	name := Name{Holder: holder}
	if err := p.open(name); err != nil {
		return err
	}
	switch {
	case holder == "":
		return &Error{Kind: ErrInvalid, Why: "the holder has no name"}
	case !use.IsValid():
		return &Error{Kind: ErrInvalid, Pin: name, Why: use.String()}
	case n == 0:
		return &Error{Kind: ErrInvalid, Pin: name, Why: "the block table is empty"}
	}
	return nil
}

// conflict judges a further use of a block by those that it has.
func (p *Pool) conflict(s *state, use Use) *Error {
	inUse := func(by uint32, format string, args ...any) *Error {
		return &Error{Kind: ErrInUse, By: p.pins[by].name, Why: use.String() + " is refused, " + fmt.Sprintf(format, args...)}
	}
	switch {
	case s.writer != 0:
		return inUse(s.writer, "%v writes it", p.pins[s.writer].name)
	case use != Write:
		return nil
	case s.reads == 1:
		return inUse(s.readers, "%v reads it", p.pins[s.readers].name)
	case s.reads > 1:
		return inUse(0, "%d pins read it", s.reads)
	case s.holds > 1:
		return inUse(0, "%d pins share it", s.holds)
	}
	return nil
}

// add makes a pin with an empty table that has room for n.
func (p *Pool) add(holder string, use Use, n int) (uint32, *pin) {
	var slot uint32
	if last := len(p.spare) - 1; last >= 0 {
		slot, p.spare = p.spare[last], p.spare[:last]
	} else {
		slot = uint32(len(p.pins))
		p.pins = append(p.pins, pin{})
	}
	p.issued++
	p.named[p.issued] = slot
	k := &p.pins[slot]
	*k = pin{name: Name{Holder: holder, Sequence: p.issued}, use: use, live: n, table: slices.Grow(k.table[:0], n)}
	return slot, k
}

func (s *state) take(use Use, slot uint32) {
	switch use {
	case Hold:
		s.holds++
	case Read:
		s.reads++
		s.readers ^= slot
	case Write:
		s.writer = slot
	}
}
