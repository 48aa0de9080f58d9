// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"errors"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/ownership"
	pages "github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/transfer"
)

// cache is a registered pool in blocks, of which one request, that of all of
// the run's transfers, holds those of its order.
type cache struct {
	pool  *transfer.Pool
	name  string // of the request
	hold  pages.Name
	table []pages.Block // in the order of the content
}

const firstHold = "kv"

func newCache(region *transfer.Region, shape blocks.Shape, order []blocks.Block) (*cache, error) {
	pool, err := region.Pool(uint64(shape.BlockSize))
	if err != nil {
		return nil, err
	}
	// The order says which blocks: take all, and give back those of others.
	all := make([]pages.Block, shape.PoolBytes()/shape.BlockSize)
	c := &cache{pool: pool, name: firstHold, table: make([]pages.Block, len(order))}
	if c.hold, err = pool.Blocks().Allocate(c.name, all); err != nil {
		return nil, err
	}
	at := map[uint64]pages.Block{}
	for _, b := range all {
		at[pool.Range(b).Offset] = b
	}
	for i, b := range order {
		c.table[i] = at[b.Offset]
		delete(at, b.Offset)
	}
	others := make([]pages.Block, 0, len(at))
	for _, b := range at {
		others = append(others, b)
	}
	_, err = pool.Blocks().UnpinBlocks(c.hold, others)
	return c, err
}

// write lets f change the content, while no transfer may read or write it.
func (c *cache) write(f func() error) error {
	pin, err := c.pool.Blocks().Pin(c.name, pages.Write, c.table)
	if err != nil {
		return err
	}
	err = f()
	_, unpin := c.pool.Blocks().Unpin(pin)
	return errors.Join(err, unpin)
}

// region is what a transfer of n bytes owns: as many blocks as it takes.
func (c *cache) region(access ownership.Access, n int64) (*transfer.Region, []transfer.Block, error) {
	size := int64(c.pool.BlockSize())
	r, err := c.pool.Region(access, c.name, c.table[:(n+size-1)/size])
	return r, []transfer.Block{{Len: uint64(n)}}, err
}

// end drops what the request holds. What transfers may still touch stays, and
// after FATAL everything does.
func (c *cache) end() error {
	if c == nil || c.hold == (pages.Name{}) {
		return nil
	}
	if _, err := c.pool.Blocks().Unpin(c.hold); err != nil && !errors.Is(err, pages.ErrFrozen) {
		return err
	}
	c.hold = pages.Name{}
	return nil
}
