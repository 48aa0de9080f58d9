// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
)

// direction is which side of a Spec is written.
type direction bool

const (
	gathering  direction = false
	scattering direction = true
)

// run is a stretch of a copy: blocks that are neighbours on both sides are one.
type run struct {
	memory int // number of the blocks' memory in plan.memories
	offset int // in that memory
	buffer int // offset in the buffer's memory
	len    int
}

// plan is a checked Spec. It is built in one pass, because a copy may have
// thousands of blocks and is built while somebody waits.
type plan struct {
	memories []Memory // each one once; the buffer's is number 0
	runs     []run
}

var plans = sync.Pool{New: func() any { return new(plan) }}

// forget gives the plan's room to the next copy.
func (p *plan) forget() {
	clear(p.memories)
	p.memories, p.runs = p.memories[:0], p.runs[:0]
	plans.Put(p)
}

// newPlan checks every extent of a copy.
func newPlan(s *Spec, d direction) (*plan, error) {
	if err := s.Buffer.check("buffer", 0); err != nil {
		return nil, err
	}
	p := plans.Get().(*plan)
	p.memories = append(p.memories, s.Buffer.Memory)
	if err := p.add(s, d); err != nil {
		p.forget()
		return nil, err
	}
	return p, nil
}

func (p *plan) add(s *Spec, d direction) error {
	var memory Memory
	var number, length int
	var base uint64
	from, to := s.Buffer.addr(), s.Buffer.end()
	at, previous, inOrder := s.Buffer.Offset, uint64(0), true
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if i == 0 || b.Memory != memory {
			if b.Memory == nil {
				return b.check("block", i)
			}
			memory, length, base = b.Memory, b.Memory.Len(), uint64(b.Memory.Addr())
			number = p.number(memory)
		}
		if b.Len <= 0 || b.Offset < 0 || b.Offset > length-b.Len {
			return b.check("block", i)
		}
		start := base + uint64(b.Offset)
		end := start + uint64(b.Len)
		if start < to && from < end {
			return &ExtentError{"block", i, fmt.Sprintf("(%v) overlaps the buffer (%v)", b, s.Buffer)}
		}
		inOrder = inOrder && previous <= start
		previous = end
		p.join(run{number, b.Offset, at, b.Len})
		at += b.Len
	}
	if sum := at - s.Buffer.Offset; sum != s.Buffer.Len {
		return &ExtentError{"buffer", 0, fmt.Sprintf("has %d bytes, its blocks %d", s.Buffer.Len, sum)}
	}
	if d == scattering && !inOrder {
		return disjoint("block", s.Blocks)
	}
	return nil
}

// number finds a memory in the list, or adds it.
func (p *plan) number(m Memory) int {
	if i := slices.Index(p.memories, m); i >= 0 {
		return i
	}
	p.memories = append(p.memories, m)
	return len(p.memories) - 1
}

func (p *plan) join(r run) {
	if n := len(p.runs); n > 0 {
		if last := &p.runs[n-1]; last.memory == r.memory && last.offset+last.len == r.offset {
			last.len += r.len
			return
		}
	}
	p.runs = append(p.runs, r)
}

// hold holds every memory of the copy, or none.
func (p *plan) hold() (release func(), err error) {
	releases := make([]func(), 0, len(p.memories))
	release = func() {
		for _, r := range releases {
			r()
		}
	}
	for _, m := range p.memories {
		r, err := m.Hold()
		if err != nil {
			release()
			return nil, errors.Join(backend.ErrInvalid, err)
		}
		releases = append(releases, r)
	}
	return release, nil
}
