// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import "fmt"

// Block is one block in one allocation. The generation is the allocation
// generation of contract §7: a block that was given out again has another one,
// so that a number kept too long is refused and never pins somebody else's
// content. It comes round after 2³² allocations of the same block. The zero
// value is no block.
type Block struct {
	// Number counts from 0; the block's bytes start at Number times the block size.
	Number uint32
	// Generation counts from 1.
	Generation uint32
}

// String returns the block as "number@generation".
func (b Block) String() string { return fmt.Sprintf("%d@%d", b.Number, b.Generation) }

// Name is the name of one pin. Sequences of a pool only grow, so that no name
// is ever used twice (contract §3). The zero value names no pin.
type Name struct {
	Holder   string // who, in the caller's words; need not be unique
	Sequence uint64 // unique in the pool, from 1
}

// String returns the name as "holder#sequence".
func (n Name) String() string { return fmt.Sprintf("%s#%d", n.Holder, n.Sequence) }

// Use is what a pin is for. The numbers are stable.
type Use uint8

// The uses. A block has one Write, or any number of Holds and Reads; and a
// Write leaves room for at most one Hold, that of the request which receives:
// what several hold is a shared prefix, and nobody may change it.
const (
	_     Use = iota
	Hold      // keeps the content for a request
	Read      // a transfer reads the content
	Write     // a transfer, or the holder himself, puts other content in
)

// IsValid reports whether u is one of the three uses.
func (u Use) IsValid() bool { return u >= Hold && u <= Write }

// String returns "hold", "read" or "write".
func (u Use) String() string {
	switch u {
	case Hold:
		return "hold"
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return fmt.Sprintf("invalid use %d", uint8(u))
}
