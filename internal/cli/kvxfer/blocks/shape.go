// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package blocks makes the data that the kvxfer command moves: KV-shaped
// pools of blocks, scattered orders, fresh content, and checksums of the
// logical sequence.
//
// A pool is what a serving engine holds: for each layer an array of blocks,
// twice as many as one transfer uses. A transfer takes some of them, in an
// order that has nothing to do with their place, and puts them into other
// places of the peer's pool.
package blocks

import (
	"fmt"
	"math/rand/v2"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Shape is the size of one transfer.
type Shape struct {
	Layers    int   `json:"layers"`
	Blocks    int   `json:"blocks"`     // a layer
	BlockSize int64 `json:"block_size"` // bytes
}

// spare is how many times larger a pool is than what one transfer uses: half
// of the blocks belong to others, so that neighbours rarely merge.
const spare = 2

// Limits that keep every product below far from overflow.
const (
	maxCount = 1 << 20
	maxBlock = 1 << 40
)

// Block is one contiguous range of a pool.
type Block struct {
	Offset, Len uint64 // bytes
}

// SizeError says which number of a shape cannot be used, and why.
type SizeError struct {
	Name  string // layers, blocks, block-size
	Value int64
	Why   string
}

// Error names the number.
func (e *SizeError) Error() string { return fmt.Sprintf("%s: %d %s", e.Name, e.Value, e.Why) }

// Check refuses shapes that are empty or too large for any machine.
func (s Shape) Check() error {
	for _, n := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"layers", int64(s.Layers), maxCount}, {"blocks", int64(s.Blocks), maxCount}, {"block-size", s.BlockSize, maxBlock},
	} {
		if n.value <= 0 {
			return &SizeError{n.name, n.value, "is too small; give 1 or more"}
		}
		if n.value > n.most {
			return &SizeError{n.name, n.value, fmt.Sprintf("is too large; give %d or less", n.most)}
		}
	}
	if n := int64(s.Layers) * int64(s.Blocks); n > wire.MaxSegments {
		return &SizeError{"layers × blocks", n, fmt.Sprintf("is too many blocks for one transfer; give %d or fewer", wire.MaxSegments)}
	}
	return nil
}

// Bytes is the size of one transfer's data.
func (s Shape) Bytes() int64 { return int64(s.Count()) * s.BlockSize }

// Count is the number of blocks in one transfer.
func (s Shape) Count() int { return s.Layers * s.Blocks }

// PoolBytes is the size of a pool.
func (s Shape) PoolBytes() int64 { return s.Bytes() * spare }

// Order is where the logical blocks lie in a pool: a choice of half of each
// layer's blocks in a random order. The same seed gives the same order.
func (s Shape) Order(seed uint64) []Block {
	rng := rand.New(rand.NewPCG(seed, 0x6f72646572)) // an order, not a secret
	order := make([]Block, 0, s.Count())
	perLayer := uint64(s.Blocks) * spare
	for layer := range uint64(s.Layers) {
		for _, place := range rng.Perm(int(perLayer))[:s.Blocks] {
			order = append(order, Block{
				Offset: (layer*perLayer + uint64(place)) * uint64(s.BlockSize),
				Len:    uint64(s.BlockSize),
			})
		}
	}
	return order
}

// Prefix is the part of an order that holds the first n logical bytes; its
// last block may be shorter than the others.
func Prefix(order []Block, n int64) []Block {
	left := uint64(n)
	for i, b := range order {
		if left <= b.Len {
			p := append([]Block(nil), order[:i+1]...)
			p[i].Len = left
			return p
		}
		left -= b.Len
	}
	return order
}

// Total is the number of bytes in an order.
func Total(order []Block) int64 {
	var n uint64
	for _, b := range order {
		n += b.Len
	}
	return int64(n)
}
