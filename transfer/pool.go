// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
)

// Pool hands a registered region out in blocks of one size: the paged
// key-value cache of an inference engine, registered once. Requests hold their
// blocks by pins (package blocks); Pool.Region makes some of them the unit of
// ownership of one transfer. All methods may be called from any goroutine.
type Pool struct {
	region    *Region
	blockSize uint64
	blocks    *blocks.Pool
}

// Pool divides the region into blocks, for as long as it is registered: from
// now on it is owned in blocks and no more as a whole. The region's length must
// be a multiple of blockSize, in bytes. While the region is owned the error
// matches ownership.ErrRefused; ownership.ErrReject where it was divided before.
func (r *Region) Pool(blockSize uint64) (*Pool, error) {
	what := "pool of region " + r.id
	if blockSize == 0 || r.pinned != nil || r.memory.Len%blockSize != 0 || r.memory.Len/blockSize > blocks.MaxBlocks {
		return nil, invalid(what, "%d bytes cannot be divided into blocks of %d", r.memory.Len, blockSize)
	}
	allocator, err := blocks.New(int(r.memory.Len / blockSize))
	if err != nil {
		return nil, blockError(what, err)
	}
	p := &Pool{region: r, blockSize: blockSize, blocks: allocator}
	if err := r.divide(p); err != nil {
		return nil, err
	}
	if err := r.reuse(); err != nil { // somebody owns it whole
		r.endpoint.mu.Lock()
		r.pool = nil
		r.endpoint.mu.Unlock()
		return nil, err
	}
	return p, nil
}

// divide makes p the region's pool, unless it has one, or a call is about
// the whole region at this moment.
func (r *Region) divide(p *Pool) error {
	r.endpoint.mu.Lock()
	defer r.endpoint.mu.Unlock()
	if err := r.present(); err != nil {
		return err
	}
	switch {
	case r.endpoint.frozen:
		return &ownership.Error{Kind: ownership.KindFatal, What: "region " + r.id}
	case r.pool != nil:
		return &ownership.Error{Kind: ownership.KindReject, What: "region " + r.id, Why: "is divided into blocks"}
	case r.taking > 0:
		return &ownership.Error{Kind: ownership.KindRefused, What: "region " + r.id, Why: "is just being taken whole"}
	}
	r.pool = p
	return nil
}

// addPieces takes pieces with their regions in, all or none. A region that is
// divided into blocks cannot be owned whole, and no lock is held across the
// registry's call.
func (e *Endpoint) addPieces(regions []*Region, specs []ownership.PieceSpec) ([][]ownership.ClaimName, ownership.Effects, error) {
	for i, r := range regions {
		taken, err := r.lend(specs[i].Access)
		if err != nil {
			return nil, nil, err
		}
		defer taken()
	}
	return e.registry.AddPieces(e.now(), specs...)
}

// lend begins a call that makes the region a piece's, which ends with taken.
func (r *Region) lend(access ownership.Access) (taken func(), err error) {
	refused := func(why string) error {
		return &ownership.Error{Kind: ownership.KindRefused, What: "region " + r.id, Why: why}
	}
	if r.pinned != nil && r.pinned.access != access {
		return nil, refused(fmt.Sprintf("it is one that %v its blocks", r.pinned.access))
	}
	pool, taken, err := r.take()
	if err != nil {
		return nil, err
	}
	if pool != nil {
		taken()
		return nil, refused("is divided into blocks; take a region of its pool")
	}
	return taken, nil
}

// Blocks returns the pool's allocator: requests allocate, share and unpin
// their blocks there. It is frozen when the endpoint is FATAL.
func (p *Pool) Blocks() *blocks.Pool { return p.blocks }

// BlockSize returns the length of each block in bytes.
func (p *Pool) BlockSize() uint64 { return p.blockSize }

// Range returns where a block lies in the pool's region.
func (p *Pool) Range(b blocks.Block) Block {
	return Block{Offset: uint64(b.Number) * p.blockSize, Len: p.blockSize}
}

// Region makes the blocks of a table one region, without registering anything:
// a unit of ownership in transfers of one access, whose offsets count along the
// table. The blocks are pinned under the holder's name until the last session
// that owned the region has released it, or until Deregister if none ever did;
// then the region is over. That a request ends, or unpins what it holds, takes
// nothing from it.
//
// A region for transfers that write it, which receive into it or fetch into it,
// excludes every other one with a common block, and blocks that several requests
// hold. Those that only read it, to send or to offer, share their blocks with
// each other. The error matches ownership.ErrRefused then, and names
// block and holder; ownership.ErrStale for a block whose allocation is over,
// ownership.ErrInvalidArgument, or ownership.ErrFatal.
func (p *Pool) Region(access ownership.Access, holder string, table []blocks.Block) (*Region, error) {
	what := "blocks of region " + p.region.id
	use := map[ownership.Access]blocks.Use{ownership.Writes: blocks.Write, ownership.Reads: blocks.Read}[access]
	pin, err := p.blocks.Pin(holder, use, table)
	if err != nil {
		return nil, blockError(what, err)
	}
	e := p.region.endpoint
	r := &Region{
		endpoint: e, id: p.region.id + "/" + pin.String(), memory: p.region.memory,
		pinned: &pinned{pool: p, pin: pin, access: access, table: slices.Clone(table)},
	}
	if err := e.registry.AddRegion(ownership.RegionSpec{ID: r.id, Len: r.pinned.size()}); err != nil {
		_, unpin := p.blocks.Unpin(pin)
		return nil, errors.Join(err, unpin)
	}
	e.mu.Lock()
	e.regions[r.id] = r
	e.mu.Unlock()
	return r, nil
}

// close ends the pool of a region that is to be deregistered: a pin is a claim
// like any other.
func (p *Pool) close() error {
	if err := p.blocks.Close(); err != nil {
		return blockError("region "+p.region.id, err)
	}
	return nil
}

// pools returns the pools of all regions.
func (e *Endpoint) pools() (list []*Pool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.regions {
		if r.pool != nil {
			list = append(list, r.pool)
		}
	}
	return list
}

// freeze keeps every pin for good: nothing retires after FATAL.
func (e *Endpoint) freeze() {
	e.mu.Lock()
	e.frozen = true
	e.mu.Unlock()
	for _, p := range e.pools() {
		p.blocks.Freeze()
	}
}

// closePools ends all pools, or says what is still pinned.
func (e *Endpoint) closePools() error {
	for _, p := range e.pools() {
		if err := p.close(); err != nil {
			return err
		}
	}
	return nil
}

// blockError gives an error of package blocks the kind that it has in the
// contract (section 11).
func blockError(what string, err error) error {
	kind := ownership.KindInvalid
	for _, k := range []struct {
		is   error
		kind ownership.Kind
	}{
		{blocks.ErrStale, ownership.KindStale}, {blocks.ErrFrozen, ownership.KindFatal}, {blocks.ErrClosed, ownership.KindClosed},
		{blocks.ErrInUse, ownership.KindRefused}, {blocks.ErrPinned, ownership.KindRefused}, {blocks.ErrExhausted, ownership.KindCapacity},
	} {
		if errors.Is(err, k.is) {
			kind = k.kind
		}
	}
	return &ownership.Error{Kind: kind, What: what, Err: err}
}
