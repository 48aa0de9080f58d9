// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

// Spec describes a copy: blocks scattered over one or more memories, and the
// buffer in which they lie one behind the other, in this order.
type Spec struct {
	Buffer Extent
	Blocks []Extent
	// After lists what has to end before the copy begins: the events of the
	// kernels that write what it reads. All must be recorded by Start.
	After []*cuda.Event

	_ struct{}
}

// Engine builds copies. What it refuses matches [backend.ErrInvalid],
// [ErrFull] or [backend.ErrClosed], and was never begun.
type Engine interface {
	// Gather builds a copy of the blocks into the buffer.
	Gather(Spec) (backend.Local, error)
	// Scatter builds a copy of the buffer into the blocks.
	Scatter(Spec) (backend.Local, error)
	// Close frees the engine; [backend.ErrInFlight] while a copy of it was not
	// released. Closing twice is fine.
	Close() error
}

// direction is which side of a Spec is written.
type direction bool

const (
	gathering  direction = false
	scattering direction = true
)

// pair returns destination and source of block i, which lies at offset at of
// the buffer.
func (d direction) pair(s *Spec, i, at int) (dst, src Extent) {
	block := s.Blocks[i]
	part := Extent{Memory: s.Buffer.Memory, Offset: s.Buffer.Offset + at, Len: block.Len}
	if d == scattering {
		return block, part
	}
	return part, block
}

// runs calls visit for every stretch of the copy, neighbours joined.
func (d direction) runs(s *Spec, visit func(dst, src Extent) error) error {
	var dst, src Extent
	at := 0
	for i := range s.Blocks {
		nextDst, nextSrc := d.pair(s, i, at)
		at += nextDst.Len
		if joins(dst, nextDst) && joins(src, nextSrc) {
			dst.Len += nextDst.Len
			src.Len += nextSrc.Len
			continue
		}
		if dst.Len > 0 {
			if err := visit(dst, src); err != nil {
				return err
			}
		}
		dst, src = nextDst, nextSrc
	}
	return visit(dst, src)
}

func joins(a, b Extent) bool { return a.Memory == b.Memory && a.Offset+a.Len == b.Offset }

// holdAll holds every memory of a copy once, or none.
func holdAll(s *Spec) (release func(), err error) {
	var held []Memory
	var releases []func()
	release = func() {
		for _, r := range releases {
			r()
		}
	}
	hold := func(m Memory) error {
		if len(held) > 0 && held[len(held)-1] == m || slices.Contains(held, m) {
			return nil
		}
		r, err := m.Hold()
		if err != nil {
			return err
		}
		held, releases = append(held, m), append(releases, r)
		return nil
	}
	err = hold(s.Buffer.Memory)
	for i := 0; i < len(s.Blocks) && err == nil; i++ {
		err = hold(s.Blocks[i].Memory)
	}
	if err != nil {
		release()
		return nil, errors.Join(backend.ErrInvalid, err)
	}
	return release, nil
}
