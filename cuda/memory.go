// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// Kind is where memory lies, and who manages it.
type Kind uint8

// Kinds of memory.
const (
	_              Kind = iota
	DeviceMemory        // of the device, allocated here
	HostMemory          // of the host, pinned, allocated here
	RegisteredHost      // of the host, the caller's, pinned here
	ForeignDevice       // of the device, the caller's
)

var kindNames = [...]string{DeviceMemory: "device", HostMemory: "pinned host", RegisteredHost: "registered host", ForeignDevice: "foreign device"}

// String names the kind.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid kind"
}

// OnDevice reports whether the memory is the device's.
func (k Kind) OnDevice() bool { return k == DeviceMemory || k == ForeignDevice }

// hostFlags make pinned memory usable by every context of the process and give
// it an address of its own there: portable and device map.
const hostFlags = 1 | 2

// Memory is a range that asynchronous work may be given. It is never Go-heap
// memory.
type Memory struct {
	context *Context
	kind    Kind
	addr    uint64
	len     int
	release func() // lets go of what a registered range is part of; nil otherwise

	mu     sync.Mutex
	holds  int  // guarded by mu
	closed bool // guarded by mu
}

// Alloc allocates n bytes of the device's memory.
func (c *Context) Alloc(n int) (*Memory, error) {
	return c.newMemory("cuMemAlloc", DeviceMemory, n, func() (uint64, cudac.Result) { return c.api.Alloc(c.handle, uint64(n)) })
}

// AllocHost allocates n bytes of pinned host memory, which copies reach without
// the driver's own staging.
func (c *Context) AllocHost(n int) (*Memory, error) {
	return c.newMemory("cuMemHostAlloc", HostMemory, n, func() (uint64, cudac.Result) { return c.api.AllocHost(c.handle, uint64(n), hostFlags) })
}

// Host is host memory that the Go runtime does not manage and that can be kept
// from being unmapped, such as an arena of package memory.
type Host interface {
	Addr() uintptr
	Len() int
	Hold() (release func(), err error)
}

// RegisterHost pins memory of the caller; it is held until Free has succeeded.
// A device that would see it at another address than the host is refused with
// [ErrorNotSupported]: use [Context.AllocHost] there.
func (c *Context) RegisterHost(h Host) (*Memory, error) {
	same, err := c.device.Attribute(AttrHostPointerInDevice)
	if err != nil {
		return nil, err
	}
	if same == 0 {
		return nil, fmt.Errorf("cuda: %s has another address for registered host memory: %w", c.device, ErrorNotSupported)
	}
	release, err := h.Hold()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	addr, n := uint64(h.Addr()), h.Len()
	m, err := c.newMemory("cuMemHostRegister", RegisteredHost, n, func() (uint64, cudac.Result) {
		return addr, c.api.RegisterHost(c.handle, addr, uint64(n), hostFlags)
	})
	if err != nil {
		release()
		return nil, err
	}
	m.release = release
	return m, nil
}

// Attributes of an address, with CUDA's numbers.
const (
	pointerContext = 1
	pointerType    = 2
	onDevice       = 2 // a value of pointerType
)

// Foreign describes device memory that somebody else in this process allocated
// in the same context, such as an inference engine's cache. He keeps it
// allocated until Free has succeeded, which frees nothing. Errors: [ErrArgument]
// where the driver does not know the first and last byte as memory of this device.
func (c *Context) Foreign(addr uint64, n int) (*Memory, error) {
	if n <= 0 || addr == 0 || addr > math.MaxUint64-uint64(n) {
		return nil, fmt.Errorf("%w: foreign memory %#x+%d", ErrArgument, addr, n)
	}
	for _, at := range []uint64{addr, addr + uint64(n) - 1} {
		kind, rc := c.api.PointerAttribute(c.handle, pointerType, at)
		if err := c.check("cuPointerGetAttribute", rc); err != nil {
			return nil, fmt.Errorf("%w: foreign memory %#x+%d: %w", ErrArgument, addr, n, err)
		}
		owner, rc := c.api.PointerAttribute(c.handle, pointerContext, at)
		if err := c.check("cuPointerGetAttribute", rc); err != nil {
			return nil, fmt.Errorf("%w: foreign memory %#x+%d: %w", ErrArgument, addr, n, err)
		}
		// The driver writes 32 bits of the first answer only.
		if uint32(kind) != onDevice || owner != uint64(c.handle) {
			return nil, fmt.Errorf("%w: foreign memory %#x+%d is not device memory of this context", ErrArgument, addr, n)
		}
	}
	return c.newMemory("", ForeignDevice, n, func() (uint64, cudac.Result) { return addr, cudac.Success })
}

func (c *Context) newMemory(call string, kind Kind, n int, get func() (uint64, cudac.Result)) (*Memory, error) {
	if n <= 0 {
		return nil, fmt.Errorf("%w: %v memory of %d bytes", ErrArgument, kind, n)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	addr, rc := get()
	if err := c.check(call, rc); err != nil {
		return nil, fmt.Errorf("%v memory of %d bytes: %w", kind, n, err)
	}
	c.live.Add(1)
	return &Memory{context: c, kind: kind, addr: addr, len: n}, nil
}

// Context is the context that the memory belongs to.
func (m *Memory) Context() *Context { return m.context }

// Kind is where the memory lies.
func (m *Memory) Kind() Kind { return m.kind }

// Addr is the address of the first byte, the same for host and device.
func (m *Memory) Addr() uintptr { return uintptr(m.addr) }

// Len is the length in bytes.
func (m *Memory) Len() int { return m.len }

// Device is the ordinal of the GPU whose memory it is; false where it is the host's.
func (m *Memory) Device() (ordinal int, onDevice bool) {
	if !m.kind.OnDevice() {
		return 0, false
	}
	return m.context.device.Ordinal(), true
}

// String names the memory in logs.
func (m *Memory) String() string { return fmt.Sprintf("%v memory %#x+%d", m.kind, m.addr, m.len) }

// Bytes is the memory itself, without copying, where it is the host's; nil
// where it is the device's, or was freed. Work of a stream may be writing it.
func (m *Memory) Bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kind.OnDevice() || m.closed {
		return nil
	}
	return unsafe.Slice((*byte)(at(m.addr)), m.len)
}

// at is the address as a pointer; never one into the Go heap.
func at(addr uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// Hold keeps the memory from being freed until release is called, which does
// nothing when called again. The error is [ErrClosed].
func (m *Memory) Hold() (release func(), err error) {
	if err := m.hold(); err != nil {
		return nil, err
	}
	return sync.OnceFunc(m.unhold), nil
}

func (m *Memory) hold() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("%w: %v", ErrClosed, m)
	}
	m.holds++
	return nil
}

func (m *Memory) unhold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds--
}

// Free gives the memory back. While work that was given it is not proven to
// have ended, or somebody holds it, the error matches [ErrInFlight] and the
// driver does not hear of it; in a context in doubt it matches [ErrInDoubt].
// Freeing twice is fine.
func (m *Memory) Free() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.context
	switch {
	case m.closed:
		return nil
	case c.Err() != nil:
		return fmt.Errorf("%v: %w", m, c.Err())
	case m.holds > 0:
		return fmt.Errorf("%w: %v, held %d times", ErrInFlight, m, m.holds)
	}
	if err := m.free(); err != nil {
		return err
	}
	m.closed = true
	c.live.Add(-1)
	if m.release != nil {
		m.release()
	}
	return nil
}

func (m *Memory) free() error {
	c := m.context
	switch m.kind {
	case DeviceMemory:
		return c.check("cuMemFree", c.api.Free(c.handle, m.addr))
	case HostMemory:
		return c.check("cuMemFreeHost", c.api.FreeHost(c.handle, m.addr))
	case RegisteredHost:
		return c.check("cuMemHostUnregister", c.api.UnregisterHost(c.handle, m.addr))
	}
	return nil
}

// Range is a part of a Memory; the zero value is none.
type Range struct {
	memory *Memory
	offset uint64
	len    uint64
}

// Range is n bytes of the memory from offset on, n > 0. The error is [ErrArgument].
func (m *Memory) Range(offset, n int) (Range, error) {
	if offset < 0 || n <= 0 || offset > m.len-n {
		return Range{}, fmt.Errorf("%w: %d bytes at %d of %v", ErrArgument, n, offset, m)
	}
	return Range{memory: m, offset: uint64(offset), len: uint64(n)}, nil
}

// All is the whole memory.
func (m *Memory) All() Range { return Range{memory: m, len: uint64(m.len)} }

// Memory is what the range is part of; nil for the zero value.
func (r Range) Memory() *Memory { return r.memory }

// Len is the length in bytes.
func (r Range) Len() int { return int(r.len) }

// Addr is the address of the first byte.
func (r Range) Addr() uint64 { return r.memory.addr + r.offset }
