// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// pinned is what makes a region out of blocks of a pool.
type pinned struct {
	pool   *Pool
	pin    blocks.Name
	access ownership.Access
	table  []blocks.Block
}

func (p *pinned) size() uint64 { return uint64(len(p.table)) * p.pool.blockSize }

// segments appends the addresses of a range that counts along the table.
func (p *pinned) segments(out []backend.Segment, at, n uint64) []backend.Segment {
	base, size := uint64(p.pool.region.memory.Addr), p.pool.blockSize
	for n > 0 {
		within := at % size
		part := min(n, size-within)
		out = append(out, backend.Segment{Addr: base + p.pool.Range(p.table[at/size]).Offset + within, Len: part})
		at, n = at+part, n-part
	}
	return out
}

// released gives the blocks of a region back that a piece has released.
func (e *Endpoint) released(id string) {
	e.mu.Lock()
	r := e.regions[id]
	e.mu.Unlock()
	if r == nil || r.pinned == nil {
		return
	}
	if err := r.unpin(); err != nil && !errors.Is(err, ownership.ErrRefused) { // refused: another send still owns it
		e.config.Log.Error("released blocks stay pinned", "region", id, "error", err)
	}
}

// unpin forgets the region and drops its pin. The registry lets a region be
// removed once, and never while a piece owns it, so the pin is dropped once.
func (r *Region) unpin() error {
	e := r.endpoint
	if _, known := r.State(); !known {
		return nil // given back before
	}
	effects, err := e.registry.RemoveRegion(e.now(), r.id)
	e.apply(effects)
	switch {
	case errors.Is(err, ownership.ErrInvalidArgument):
		return nil
	case err != nil:
		return err
	}
	e.mu.Lock()
	delete(e.regions, r.id)
	e.mu.Unlock()
	if _, err := r.pinned.pool.blocks.Unpin(r.pinned.pin); err != nil {
		return blockError("region "+r.id, err)
	}
	return nil
}
