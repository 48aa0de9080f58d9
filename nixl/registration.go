// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// MemType is a kind of memory.
type MemType = nixlc.MemType

// Kinds of memory, as NIXL numbers them; DRAM is the zero value. What a
// segment's Addr and Dev mean depends on the kind, and which kinds a plugin
// serves is in its [PluginInfo].
const (
	// DRAM is main memory of the process: Addr is an address, Dev 0.
	DRAM = nixlc.MemDRAM
	// VRAM is memory of a GPU: Addr is a device address, Dev the device.
	VRAM = nixlc.MemVRAM
	// Block is a block device: Addr is an offset, Dev names the volume.
	Block = nixlc.MemBlock
	// Object is an object store: Addr is an offset, Dev a number of the
	// caller's choice that the registration ties to a key.
	Object = nixlc.MemObject
	// File is an open file: Addr is an offset, Dev the descriptor.
	File = nixlc.MemFile
)

// addressed reports whether Addr is an address, which is never 0.
func addressed(m MemType) bool { return m == DRAM || m == VRAM }

// Segment is one contiguous range, ours or a peer's.
type Segment struct {
	Addr uint64
	Len  uint64 // bytes, more than 0
	Dev  uint64 // device, file descriptor or object, by kind of memory; 0 for DRAM
}

// end is the first address after the segment; false when it wraps around.
func (s Segment) end() (uint64, bool) {
	e := s.Addr + s.Len
	return e, e >= s.Addr
}

// Registration is memory that NIXL may use.
type Registration struct {
	agent   *Agent
	mem     MemType
	segment Segment
	blob    []byte
	backend nixlc.Backend
	file    *os.File // kept from being closed by the collector

	// Guarded by agent.book.
	inFlight int  // requests that were posted and have not ended on proof
	views    int  // views that cover it
	gone     bool // deregistered, or being so
}

// Segment is the registered range.
func (r *Registration) Segment() Segment { return r.segment }

// Mem is the kind of memory.
func (r *Registration) Mem() MemType { return r.mem }

func (r *Registration) String() string {
	return fmt.Sprintf("registration %v %#x+%d", r.mem, r.segment.Addr, r.segment.Len)
}

// Register makes DRAM usable in transfers, for the given backend or, when it
// is nil, for every backend that can. See [Agent.RegisterAll].
func (a *Agent) Register(s Segment, b *Backend) (*Registration, error) {
	regs, err := a.RegisterAll(RegisterConfig{Segments: []Segment{s}, Backend: b})
	if err != nil {
		return nil, err
	}
	return regs[0], nil
}

// RegisterFile makes the first n bytes of an open file usable, with a backend
// that serves files. The file must stay open until Deregister has succeeded;
// its place of reading does not matter and does not move.
func (a *Agent) RegisterFile(f *os.File, n uint64, b *Backend) (*Registration, error) {
	regs, err := a.RegisterAll(RegisterConfig{
		Mem: File, Segments: []Segment{{Len: n, Dev: uint64(f.Fd())}}, Backend: b,
	})
	if err != nil {
		return nil, err
	}
	regs[0].file = f
	return regs[0], nil
}

// RegisterConfig describes what is registered in one call into NIXL.
type RegisterConfig struct {
	_        struct{}
	Mem      MemType
	Segments []Segment
	// Blobs, when not nil, has for each segment what the plugin needs to know
	// of it, such as an object's key.
	Blobs [][]byte
	// Backend is the only one to use it; nil: every one that can.
	Backend *Backend
}

// RegisterAll makes memory usable in transfers, a Registration for each
// segment. DRAM must be mapped or C memory. No segment may overlap another of
// its kind: NIXL would need a deregistration for each and cannot tell them apart.
func (a *Agent) RegisterAll(cfg RegisterConfig) ([]*Registration, error) {
	regs, err := a.newRegistrations(&cfg)
	if err != nil {
		return nil, err
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	if err := a.reserve(regs); err != nil {
		return nil, err
	}
	l := list(cfg.Mem, cfg.Segments)
	l.Blobs = cfg.Blobs
	code := a.lib.api.RegisterMem(a.handle, l, regs[0].backend)
	if err := check("register_mem", a.name, code); err != nil {
		a.forget(regs...)
		return nil, err
	}
	return regs, nil
}

func (a *Agent) newRegistrations(cfg *RegisterConfig) ([]*Registration, error) {
	var backend nixlc.Backend
	switch {
	case !cfg.Mem.IsValid():
		return nil, fmt.Errorf("%w: %v", ErrArgument, cfg.Mem)
	case len(cfg.Segments) == 0 || cfg.Blobs != nil && len(cfg.Blobs) != len(cfg.Segments):
		return nil, fmt.Errorf("%w: %d segments and %d blobs", ErrArgument, len(cfg.Segments), len(cfg.Blobs))
	case cfg.Backend != nil && cfg.Backend.agent != a:
		return nil, fmt.Errorf("%w: backend of agent %q", ErrArgument, cfg.Backend.agent.name)
	case cfg.Backend != nil:
		backend = cfg.Backend.handle
	}
	regs := make([]*Registration, len(cfg.Segments))
	for i, s := range cfg.Segments {
		if _, ok := s.end(); !ok || s.Len == 0 || s.Addr == 0 && addressed(cfg.Mem) {
			return nil, fmt.Errorf("%w: segment %v %#x+%d", ErrArgument, cfg.Mem, s.Addr, s.Len)
		}
		regs[i] = &Registration{agent: a, mem: cfg.Mem, segment: s, backend: backend}
		if cfg.Blobs != nil {
			regs[i].blob = cfg.Blobs[i]
		}
	}
	return regs, nil
}

// reserve enters registrations in the book unless one overlaps.
func (a *Agent) reserve(regs []*Registration) error {
	a.book.Lock()
	defer a.book.Unlock()
	all := make([]*Registration, 0, len(a.regions)+len(regs))
	all = append(append(all, a.regions...), regs...)
	slices.SortFunc(all, byAddress)
	for i, r := range all[1:] {
		if o := all[i]; o.mem == r.mem && o.segment.Dev == r.segment.Dev {
			if end, _ := o.segment.end(); r.segment.Addr < end {
				return fmt.Errorf("%w: segments %v %#x+%d and %#x+%d overlap", ErrArgument,
					r.mem, o.segment.Addr, o.segment.Len, r.segment.Addr, r.segment.Len)
			}
		}
	}
	a.regions = all
	return nil
}

func byAddress(a, b *Registration) int {
	return cmp.Or(cmp.Compare(a.mem, b.mem), cmp.Compare(a.segment.Dev, b.segment.Dev),
		cmp.Compare(a.segment.Addr, b.segment.Addr))
}

func (a *Agent) forget(regs ...*Registration) {
	a.book.Lock()
	defer a.book.Unlock()
	for _, r := range regs {
		r.gone = true
		if i := slices.Index(a.regions, r); i >= 0 {
			a.regions = slices.Delete(a.regions, i, i+1)
		}
	}
}

// Deregister ends the registration; [ErrInFlight] while a request of ours that
// uses it was posted and has not ended on proof. It is no fence: peers that
// have the metadata still reach the memory.
func (r *Registration) Deregister() error {
	a := r.agent
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	if err := r.claim(); err != nil {
		return err
	}
	l := list(r.mem, []Segment{r.segment})
	if r.blob != nil {
		l.Blobs = [][]byte{r.blob}
	}
	code := a.lib.api.DeregisterMem(a.handle, l, r.backend)
	if err := check("deregister_mem", a.name, code); err != nil {
		a.book.Lock()
		defer a.book.Unlock()
		r.gone = false
		return err
	}
	a.forget(r)
	return nil
}

// claim marks r as going, so that nothing is posted on it any more.
func (r *Registration) claim() error {
	r.agent.book.Lock()
	defer r.agent.book.Unlock()
	switch {
	case r.gone:
		return fmt.Errorf("%v: %w", r, ErrClosed)
	case r.inFlight != 0 || r.views != 0:
		return fmt.Errorf("%v: %d requests, %d views: %w", r, r.inFlight, r.views, ErrInFlight)
	}
	r.gone = true
	return nil
}

// covering returns the registrations that the segments lie in, each once, in
// addition to those in out.
func (a *Agent) covering(out []*Registration, mem MemType, segments []Segment) ([]*Registration, error) {
	a.book.Lock()
	defer a.book.Unlock()
	var last *Registration
	for i, s := range segments {
		if last != nil && last.holds(mem, s) {
			continue
		}
		if last = a.find(mem, s); last == nil {
			return nil, fmt.Errorf("own segment %d, %v %#x+%d: %w", i, mem, s.Addr, s.Len, ErrNotRegistered)
		}
		if !slices.Contains(out, last) {
			out = append(out, last)
		}
	}
	return out, nil
}

// find returns the registration that s lies in. The caller holds a.book.
func (a *Agent) find(mem MemType, s Segment) *Registration {
	probe := &Registration{mem: mem, segment: s}
	i, exact := slices.BinarySearchFunc(a.regions, probe, byAddress)
	if !exact {
		i--
	}
	if i >= 0 && a.regions[i].holds(mem, s) {
		return a.regions[i]
	}
	return nil
}

func (r *Registration) holds(mem MemType, s Segment) bool {
	end, ok := s.end()
	last, _ := r.segment.end()
	return ok && !r.gone && mem == r.mem && s.Dev == r.segment.Dev && s.Addr >= r.segment.Addr && end <= last
}

// list is what the C side reads, during the call only. The two types have one
// layout, so a list of 100,000 segments is not copied.
func list(mem MemType, segments []Segment) nixlc.List {
	descs := unsafe.Slice((*nixlc.Desc)(unsafe.Pointer(unsafe.SliceData(segments))), len(segments))
	return nixlc.List{Mem: mem, Descs: descs}
}

// Segment and nixlc.Desc must be the same struct.
var _ = nixlc.Desc(Segment{})
