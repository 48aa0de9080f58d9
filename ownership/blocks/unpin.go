// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import "fmt"

// Unpin drops whole pins, all or none, and returns how many blocks became free.
// The names are judged before the first decrement. A name works once: again it
// is ErrStale, counted, and changes nothing, whoever has its blocks meanwhile.
// Errors: ErrInvalid for no names, ErrUnknown, ErrRepeated, ErrStale, ErrFrozen,
// ErrClosed.
func (p *Pool) Unpin(names ...Name) (freed int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(names) == 0 {
		return 0, &Error{Kind: ErrInvalid, Why: "no pin is named"}
	}
	p.begin()
	for _, n := range names {
		if _, err := p.live(n); err != nil {
			return 0, err
		}
	}
	for _, n := range names {
		slot := p.named[n.Sequence]
		for _, number := range p.pins[slot].table {
			if number != unpinned && p.drop(slot, number) {
				freed++
			}
		}
		p.end(slot)
	}
	return freed, nil
}

// UnpinBlocks drops some blocks of one pin, all of the batch or none, and
// returns how many became free. The pin is over when it has none left. Range,
// uniqueness and membership of the whole batch are judged before the first
// decrement; a block unpinned before is ErrStale, one of another allocation that the
// pin never had is ErrNotPinned. Errors: as Unpin, and ErrRange, ErrRepeated,
// ErrNotPinned.
func (p *Pool) UnpinBlocks(name Name, batch []Block) (freed int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	slot, e := p.live(name)
	switch {
	case e != nil:
		return 0, e
	case len(batch) == 0:
		return 0, &Error{Kind: ErrInvalid, Pin: name, Why: "the batch is empty"}
	}
	k := &p.pins[slot]
	p.buildIndex(k)
	for _, b := range batch {
		if e := p.member(k, b); e != nil {
			return 0, e
		}
	}
	for _, b := range batch {
		k.table[k.index[b]] = unpinned
		k.live--
		if p.drop(slot, b.Number) {
			freed++
		}
	}
	if k.live == 0 {
		p.end(slot)
	}
	return freed, nil
}

// live returns the slot of the pin that a name stands for, and notes that the
// batch has named it.
func (p *Pool) live(n Name) (uint32, *Error) {
	if err := p.open(n); err != nil {
		return 0, err
	}
	slot, ok := p.named[n.Sequence]
	switch {
	case n.Sequence == 0 || n.Sequence > p.issued:
		return 0, &Error{Kind: ErrUnknown, Pin: n}
	case !ok:
		p.stale++
		return 0, &Error{Kind: ErrStale, Pin: n, Why: "it was unpinned before"}
	}
	k := &p.pins[slot]
	switch {
	case k.name != n:
		return 0, &Error{Kind: ErrUnknown, Pin: n, By: k.name, Why: fmt.Sprintf("that number is %v", k.name)}
	case k.mark == p.mark:
		return 0, &Error{Kind: ErrRepeated, Pin: n}
	}
	k.mark = p.mark
	return slot, nil
}

// member judges whether a pin has a block.
func (p *Pool) member(k *pin, b Block) *Error {
	if _, err := p.find(k.name, b); err != nil {
		return err
	}
	switch at, known := k.index[b]; {
	case !known:
		return &Error{Kind: ErrNotPinned, Pin: k.name, Block: b}
	case k.table[at] == unpinned:
		p.stale++
		return &Error{Kind: ErrStale, Pin: k.name, Block: b, Why: "it was unpinned before"}
	}
	return nil
}

// buildIndex names the blocks of a pin with their allocation, which is the present one
// while the pin has them: a later allocation of the same block is not the pin's.
func (p *Pool) buildIndex(k *pin) {
	if k.index != nil {
		return
	}
	k.index = make(map[Block]int, len(k.table))
	for i, number := range k.table {
		k.index[Block{number, p.blocks[number].generation}] = i
	}
}

// drop takes one pin from one block and reports whether that was the last.
func (p *Pool) drop(slot, number uint32) bool {
	s := &p.blocks[number]
	switch p.pins[slot].use {
	case Hold:
		s.holds--
	case Read:
		s.reads--
		s.readers ^= slot
	case Write:
		s.writer = 0
	}
	if s.pinned() {
		return false
	}
	p.free.push(number)
	return true
}

// end forgets a pin that has no block left.
func (p *Pool) end(slot uint32) {
	k := &p.pins[slot]
	delete(p.named, k.name.Sequence)
	table := k.table[:0]
	if cap(table) > keptTable {
		table = nil
	}
	*k = pin{table: table}
	p.spare = append(p.spare, slot)
}
