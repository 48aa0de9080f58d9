// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"math"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
)

// Region is registered memory: the unit of ownership and of reuse. All methods
// may be called from any goroutine.
type Region struct {
	endpoint     *Endpoint
	id           string
	memory       backend.Memory
	release      func() // lets the arena be closed again
	registration backend.Registration
	pinned       *pinned // nil unless it is made of a pool's blocks

	pool    *Pool // guarded by endpoint.mu; nil while it is owned whole
	taking  int   // guarded by endpoint.mu; calls about the whole of it that run now
	leaving bool  // guarded by endpoint.mu; while Deregister runs
}

// Register makes an arena usable in transfers under a name that is unique in
// this endpoint. It is refused where a registered region has any of the memory.
// The arena cannot be closed before the region is deregistered. After Stop or Halt the
// error matches ErrHalted.
func (e *Endpoint) Register(id string, arena *memory.Arena) (*Region, error) {
	if arena == nil {
		return nil, invalid("region "+id, "the arena is nil")
	}
	release, err := arena.Hold()
	if err != nil {
		return nil, invalid("region "+id, "%w", err)
	}
	r, err := e.register(&Region{
		endpoint: e, id: id, release: release,
		memory: backend.Memory{Addr: arena.Addr(), Len: uint64(arena.Len())},
	})
	if r == nil {
		release()
	}
	return r, err
}

// RegisterMemory does the same for memory that the caller manages. It must not
// be Go-heap memory, and must stay mapped until Deregister has succeeded. A region
// that comes with an error is registered all the same, and has to be deregistered.
func (e *Endpoint) RegisterMemory(id string, m backend.Memory) (*Region, error) {
	if m.Addr == 0 || m.Len == 0 {
		return nil, invalid("region "+id, "address or length is 0")
	}
	return e.register(&Region{endpoint: e, id: id, memory: m, release: func() {}})
}

// DeviceMemory is memory of a GPU, such as a *cuda.Memory, that can be kept from being
// freed.
type DeviceMemory interface {
	Addr() uintptr
	Len() int
	// Device returns the GPU's ordinal in this process; false where the memory is the
	// host's, pinned for a GPU or not.
	Device() (ordinal int, onDevice bool)
	// Hold keeps the memory allocated until release is called.
	Hold() (release func(), err error)
}

// RegisterDevice makes memory of a GPU usable in transfers, or memory of the host that a
// GPU's driver has pinned. It cannot be freed before the region is deregistered. The
// error matches backend.ErrMemoryKind where the backend serves the host's memory only.
//
// What was measured of a transport's end was measured of host memory: with a device's
// registered, nothing but an operator's statement is a fence (see package fence).
func (e *Endpoint) RegisterDevice(id string, m DeviceMemory) (*Region, error) {
	if m == nil {
		return nil, invalid("region "+id, "the memory is nil")
	}
	memory := backend.Memory{Addr: m.Addr(), Len: uint64(max(0, m.Len()))}
	if ordinal, on := m.Device(); on {
		if ordinal < 0 || ordinal > math.MaxInt32 {
			return nil, invalid("region "+id, "device %d", ordinal)
		}
		memory.Space = backend.Space{Kind: backend.VRAM, Device: uint32(ordinal)}
	}
	release, err := m.Hold()
	if err != nil {
		return nil, invalid("region "+id, "%w", err)
	}
	r, err := e.register(&Region{endpoint: e, id: id, release: release, memory: memory})
	if r == nil {
		release()
	}
	return r, err
}

func (e *Endpoint) register(r *Region) (*Region, error) {
	if e.ctx.Err() != nil {
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: ErrHalted}
	}
	if err := e.registry.AddRegion(ownership.RegionSpec{ID: r.id, Addr: uint64(r.memory.Addr), Len: r.memory.Len}); err != nil {
		return nil, err
	}
	b, err := e.enterBackend(nil) // until the region is among the others
	if err != nil {
		_ = e.forgetRegion(r) // nobody has it yet
		return nil, err
	}
	defer e.leaveBackend()
	registration, err := b.Register(r.memory)
	if err != nil {
		_ = e.forgetRegion(r)
		return nil, &Error{What: "region " + r.id, Kind: ErrConfig, Err: err}
	}
	r.registration = registration
	e.mu.Lock()
	e.regions[r.id] = r
	e.mu.Unlock()
	err = e.refresh()
	if err == nil {
		return r, nil
	}
	if undone := b.Deregister(registration); undone != nil {
		return r, errors.Join(err, undone) // it is registered, whoever looks at the error alone
	}
	return nil, errors.Join(err, e.forgetRegion(r))
}

// forgetRegion takes a region's name back, which another one may have from then on.
func (e *Endpoint) forgetRegion(r *Region) error {
	effects, err := e.registry.RemoveRegion(e.now(), r.id)
	e.apply(effects)
	e.mu.Lock()
	if e.regions[r.id] == r {
		delete(e.regions, r.id)
	}
	e.mu.Unlock()
	return err
}

// refresh fetches the metadata after registrations have changed. Peers get it
// with the next message that needs it. The caller is inside of the backend.
func (e *Endpoint) refresh() error {
	e.mu.Lock()
	e.generation++
	generation := e.generation
	e.mu.Unlock()
	metadata, err := e.backend().Metadata()
	if err != nil {
		return &Error{What: "metadata of " + e.config.Name, Kind: ErrConfig, Err: err}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if generation > e.fetched { // somebody else may have fetched newer ones
		e.metadata, e.fetched = metadata, generation
	}
	return nil
}

// ID returns the region's name.
func (r *Region) ID() string { return r.id }

// Memory returns the registered range; for a region made of blocks, that of the
// pool they are from.
func (r *Region) Memory() backend.Memory { return r.memory }

// State returns who owns the region, and its generations; false once it is
// deregistered.
func (r *Region) State() (ownership.RegionState, bool) {
	e := r.endpoint
	e.mu.Lock()
	present := e.regions[r.id] == r
	e.mu.Unlock()
	if !present {
		return ownership.RegionState{}, false
	}
	return e.registry.Region(r.id)
}

// Reuse asks for the permission to put other content into the region. While it
// is owned, or any block of it is pinned, the error matches ownership.ErrRefused
// and names the claims. Blocks that are pinned for sends are refused as well,
// since other sends may read them.
func (r *Region) Reuse() error {
	pool, taken, err := r.take()
	if err != nil {
		return err
	}
	defer taken()
	switch {
	case pool != nil:
		if err := pool.blocks.Idle(); err != nil {
			return blockError("region "+r.id, err)
		}
	case r.pinned != nil && r.pinned.access == ownership.Reads:
		return &ownership.Error{Kind: ownership.KindRefused, What: "region " + r.id, Why: "its blocks are pinned for reading"}
	}
	return r.reuse()
}

func (r *Region) reuse() error {
	effects, err := r.endpoint.registry.Reuse(r.endpoint.now(), r.id)
	r.endpoint.apply(effects)
	return err
}

// Deregister ends the registration and forgets the region. While it is owned
// the error matches ownership.ErrRefused, and the backend does not hear of it.
// It is no fence: a peer that has the metadata may still reach the memory.
// A region with a pinned block is owned. One that is made of blocks gives them
// back; where its session has done so before, that is fine.
func (r *Region) Deregister() error {
	e := r.endpoint
	if r.pinned != nil {
		return r.unpin()
	}
	pool, stays, err := r.leave()
	if err != nil {
		return err
	}
	defer stays()
	if pool != nil {
		if err := pool.close(); err != nil {
			return err
		}
	}
	if _, err := e.enterBackend(nil); err != nil {
		return err
	}
	defer e.leaveBackend()
	// A second call goes on where the backend refused the first.
	if state, known := r.State(); !known || state.Registered {
		effects, err := e.registry.Deregister(e.now(), r.id)
		e.apply(effects)
		if err != nil {
			return err
		}
	}
	return r.remove()
}

// remove deregisters at the backend what the registry has let go.
func (r *Region) remove() error {
	e := r.endpoint
	if err := e.backend().Deregister(r.registration); err != nil {
		return &Error{What: "region " + r.id, Kind: ErrConfig, Err: err}
	}
	err := e.forgetRegion(r)
	r.release()
	if err != nil {
		return err
	}
	return e.refresh()
}

// take begins a call about the whole region, which ends with taken. A handle
// of a region that was deregistered speaks for nothing: its name, and its bytes,
// may be another's by now.
func (r *Region) take() (pool *Pool, taken func(), err error) {
	e := r.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := r.present(); err != nil {
		return nil, nil, err
	}
	r.taking++
	return r.pool, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		r.taking--
	}, nil
}

// leave begins to deregister: until stays is called, no call about the region
// begins, and none is under way.
func (r *Region) leave() (pool *Pool, stays func(), err error) {
	e := r.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := r.present(); err != nil {
		return nil, nil, err
	}
	if r.taking > 0 {
		return nil, nil, &ownership.Error{Kind: ownership.KindRefused, What: "region " + r.id, Why: "is just being taken"}
	}
	r.leaving = true
	return r.pool, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		r.leaving = false
	}, nil
}

// present refuses a region that is deregistered, or about to be; endpoint.mu is held.
func (r *Region) present() error {
	switch {
	case r.endpoint.regions[r.id] != r:
		return &ownership.Error{Kind: ownership.KindInvalid, What: "region " + r.id, Why: "is deregistered"}
	case r.leaving:
		return &ownership.Error{Kind: ownership.KindRefused, What: "region " + r.id, Why: "is just being deregistered"}
	}
	return nil
}
