// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// Pool is contract §10: blocks under named pins. What is wrong with a batch is
// found before anything of it happens.
type Pool struct {
	Generation []int // of each block's allocation; 0: never given out
	Pins       []*Pin
	named      int // pins that ever were
	StaleCalls int
	Frozen     bool
	Closed     bool
}

// Pin is a claim on blocks, for hold, read or write.
type Pin struct {
	Number int
	Use    string
	Blocks []Block // that it still has
	Had    []Block // those it was made of
}

// Block is a number in one of its allocations.
type Block struct{ Number, Generation int }

// NewPool has n free blocks.
func NewPool(n int) *Pool { return &Pool{Generation: make([]int, n)} }

func (p *Pool) shut() string {
	switch {
	case p.Frozen:
		return "frozen"
	case p.Closed:
		return "closed"
	}
	return ""
}

// Users counts the pins of a block, by use.
func (p *Pool) Users(number int) map[string]int {
	out := make(map[string]int)
	for _, pin := range p.Pins {
		if slices.ContainsFunc(pin.Blocks, func(b Block) bool { return b.Number == number }) {
			out[pin.Use]++
		}
	}
	return out
}

// past reports whether a block's allocation is over.
func (p *Pool) past(b Block) bool {
	return b.Generation != p.Generation[b.Number] || len(p.Users(b.Number)) == 0
}

// Free counts the blocks that nobody pins.
func (p *Pool) Free() (n int) {
	for i := range p.Generation {
		if len(p.Users(i)) == 0 {
			n++
		}
	}
	return n
}

// Allocate says whether a batch of free blocks can be given out.
func (p *Pool) Allocate(count int) string {
	switch {
	case p.shut() != "":
		return p.shut()
	case count == 0:
		return "invalid argument"
	case count > p.Free():
		return "not enough blocks"
	}
	return ""
}

// Allocated takes in which blocks were given out: they must have been free, and
// each in its next allocation. It returns what is wrong with them.
func (p *Pool) Allocated(table []Block) (*Pin, string) {
	for i, b := range table {
		if len(p.Users(b.Number)) > 0 || slices.Contains(table[:i], b) {
			return nil, "given out twice"
		}
		if b.Generation != p.Generation[b.Number]+1 {
			return nil, "not in its next allocation"
		}
	}
	for _, b := range table {
		p.Generation[b.Number]++
	}
	return p.pin("hold", table), ""
}

func (p *Pool) pin(use string, table []Block) *Pin {
	p.named++
	pin := &Pin{Number: p.named, Use: use, Blocks: slices.Clone(table), Had: slices.Clone(table)}
	p.Pins = append(p.Pins, pin)
	return pin
}

// Pin claims allocated blocks once more. A block has one write, or any number of
// the others; and a write begins beside one hold at most.
func (p *Pool) Pin(use string, table []Block) (*Pin, string) {
	kind := p.judge(table, func(b Block) string {
		switch n := p.Users(b.Number); {
		case p.past(b):
			p.StaleCalls++
			return "stale"
		case n["write"] > 0, use == "write" && (n["read"] > 0 || n["hold"] > 1):
			return "in use"
		}
		return ""
	})
	if kind != "" {
		return nil, kind
	}
	return p.pin(use, table), ""
}

// judge judges a batch block by block, before anything of it happens.
func (p *Pool) judge(table []Block, each func(Block) string) string {
	if kind := p.shut(); kind != "" {
		return kind
	}
	if len(table) == 0 {
		return "invalid argument"
	}
	for i, b := range table {
		if b.Number < 0 || b.Number >= len(p.Generation) {
			return "no such block"
		}
		if kind := each(b); kind != "" {
			return kind
		}
		if slices.Contains(table[:i], b) {
			return "named twice in one batch"
		}
	}
	return ""
}

// Find returns a live pin.
func (p *Pool) Find(number int) *Pin {
	for _, pin := range p.Pins {
		if pin.Number == number {
			return pin
		}
	}
	return nil
}

// Unpin drops whole pins, all or none, and returns how many blocks became free.
func (p *Pool) Unpin(numbers ...int) (int, string) {
	if kind := p.shut(); kind != "" {
		return 0, kind
	}
	for i, n := range numbers {
		switch {
		case n < 1 || n > p.named:
			return 0, "no such pin"
		case slices.Contains(numbers[:i], n):
			return 0, "named twice in one batch"
		case p.Find(n) == nil:
			p.StaleCalls++
			return 0, "stale"
		}
	}
	before := p.Free()
	p.Pins = slices.DeleteFunc(p.Pins, func(pin *Pin) bool { return slices.Contains(numbers, pin.Number) })
	return p.Free() - before, ""
}

// UnpinBlocks drops some blocks of one pin, all of the batch or none.
func (p *Pool) UnpinBlocks(number int, batch []Block) (int, string) {
	if kind := p.shut(); kind != "" {
		return 0, kind
	}
	pin := p.Find(number)
	switch {
	case number < 1 || number > p.named:
		return 0, "no such pin"
	case pin == nil:
		p.StaleCalls++
		return 0, "stale"
	}
	kind := p.judge(batch, func(b Block) string {
		switch {
		case slices.Contains(pin.Blocks, b):
		case slices.Contains(pin.Had, b) || p.past(b):
			p.StaleCalls++
			return "stale"
		default:
			return "not of this pin"
		}
		return ""
	})
	if kind != "" {
		return 0, kind
	}
	before := p.Free()
	pin.Blocks = slices.DeleteFunc(pin.Blocks, func(b Block) bool { return slices.Contains(batch, b) })
	p.Pins = slices.DeleteFunc(p.Pins, func(o *Pin) bool { return len(o.Blocks) == 0 })
	return p.Free() - before, ""
}
