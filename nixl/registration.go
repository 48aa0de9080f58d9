// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// MemType is a kind of memory.
type MemType = nixlc.MemType

// DRAM is main memory of the process.
const DRAM = nixlc.MemDRAM

// Segment is one contiguous range, ours or a peer's.
type Segment struct {
	Addr uint64
	Len  uint64 // bytes, more than 0
	Dev  uint64 // device that the memory is on; 0 for DRAM
}

// end is the first address after the segment; false when it wraps around.
func (s Segment) end() (uint64, bool) {
	e := s.Addr + s.Len
	return e, e >= s.Addr
}

// Registration is memory that NIXL may use.
type Registration struct {
	agent   *Agent
	segment Segment
	backend nixlc.Backend

	// Guarded by agent.book.
	inFlight int  // requests that were posted and have not ended on proof
	gone     bool // deregistered, or being so
}

// Segment is the registered range.
func (r *Registration) Segment() Segment { return r.segment }

// Register makes DRAM usable in transfers, for the given backend or, when it
// is nil, for every backend that can. The range must be mapped or C memory,
// and must not overlap one that is registered: NIXL would need a
// deregistration for each and cannot tell them apart.
func (a *Agent) Register(s Segment, b *Backend) (*Registration, error) {
	end, ok := s.end()
	if s.Addr == 0 || s.Len == 0 || !ok {
		return nil, fmt.Errorf("%w: segment %#x+%d", ErrArgument, s.Addr, s.Len)
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	r := &Registration{agent: a, segment: s}
	if b != nil {
		r.backend = b.handle
	}
	if err := a.reserve(r, end); err != nil {
		return nil, err
	}
	code := a.lib.api.RegisterMem(a.handle, dram([]Segment{s}), r.backend)
	if err := check("register_mem", a.name, code); err != nil {
		a.forget(r)
		return nil, err
	}
	return r, nil
}

// reserve enters r in the book unless it overlaps.
func (a *Agent) reserve(r *Registration, end uint64) error {
	a.book.Lock()
	defer a.book.Unlock()
	i, _ := slices.BinarySearchFunc(a.regions, r, byAddress)
	for _, j := range []int{i - 1, i} {
		if j < 0 || j >= len(a.regions) || a.regions[j].segment.Dev != r.segment.Dev {
			continue
		}
		o := a.regions[j].segment
		if oEnd, _ := o.end(); o.Addr < end && r.segment.Addr < oEnd {
			return fmt.Errorf("%w: segment %#x+%d overlaps the registered %#x+%d",
				ErrArgument, r.segment.Addr, r.segment.Len, o.Addr, o.Len)
		}
	}
	a.regions = slices.Insert(a.regions, i, r)
	return nil
}

func byAddress(a, b *Registration) int {
	return cmp.Or(cmp.Compare(a.segment.Dev, b.segment.Dev), cmp.Compare(a.segment.Addr, b.segment.Addr))
}

func (a *Agent) forget(r *Registration) {
	a.book.Lock()
	defer a.book.Unlock()
	r.gone = true
	if i := slices.Index(a.regions, r); i >= 0 {
		a.regions = slices.Delete(a.regions, i, i+1)
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
	code := a.lib.api.DeregisterMem(a.handle, dram([]Segment{r.segment}), r.backend)
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
		return fmt.Errorf("registration %#x+%d: %w", r.segment.Addr, r.segment.Len, ErrClosed)
	case r.inFlight != 0:
		return fmt.Errorf("registration %#x+%d: %d requests: %w",
			r.segment.Addr, r.segment.Len, r.inFlight, ErrInFlight)
	}
	r.gone = true
	return nil
}

// covering returns the registrations that the segments lie in, each once.
func (a *Agent) covering(segments []Segment) ([]*Registration, error) {
	a.book.Lock()
	defer a.book.Unlock()
	var out []*Registration
	var last *Registration
	for i, s := range segments {
		if last != nil && last.holds(s) {
			continue
		}
		if last = a.find(s); last == nil {
			return nil, fmt.Errorf("local segment %d, %#x+%d: %w", i, s.Addr, s.Len, ErrNotRegistered)
		}
		if !slices.Contains(out, last) {
			out = append(out, last)
		}
	}
	return out, nil
}

// find returns the registration that s lies in. The caller holds a.book.
func (a *Agent) find(s Segment) *Registration {
	probe := &Registration{segment: s}
	i, exact := slices.BinarySearchFunc(a.regions, probe, byAddress)
	if !exact {
		i--
	}
	if i >= 0 && a.regions[i].holds(s) {
		return a.regions[i]
	}
	return nil
}

func (r *Registration) holds(s Segment) bool {
	end, ok := s.end()
	last, _ := r.segment.end()
	return ok && !r.gone && s.Dev == r.segment.Dev && s.Addr >= r.segment.Addr && end <= last
}

// dram is the list that the C side reads, during the call only. The two types
// have one layout, so a list of 100,000 segments is not copied.
func dram(segments []Segment) nixlc.List {
	descs := unsafe.Slice((*nixlc.Desc)(unsafe.Pointer(unsafe.SliceData(segments))), len(segments))
	return nixlc.List{Mem: nixlc.MemDRAM, Descs: descs}
}

// Segment and nixlc.Desc must be the same struct.
var _ = nixlc.Desc(Segment{})
