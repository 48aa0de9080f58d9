// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

// slot is what one copy on a GPU needs beside the memory it copies. It goes to
// the next copy only when its last one has ended on proof, or never began.
type slot struct {
	event    *cuda.Event
	list     *cuda.CopyList
	table    *cuda.Memory // of the device, as the kernel reads the list; nil for the copy engine
	capacity int          // of list and table, in copies
}

// firstCapacity is for how many copies a slot is made first.
const firstCapacity = 1024

// take gives a slot to a copy.
func (g *GPU) take() (*slot, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, backend.ErrClosed
	case g.why != nil:
		return nil, fmt.Errorf("%w: gather: %s is in quarantine: %w", backend.ErrUnavailable, g.context.Device(), g.why)
	case g.context.Err() != nil:
		return nil, g.context.Err()
	case g.left == 0:
		return nil, ErrFull
	}
	s := &slot{}
	if n := len(g.idle); n > 0 {
		s, g.idle = g.idle[n-1], g.idle[:n-1]
	} else {
		var err error
		if s.event, err = g.context.NewEvent(); err != nil {
			return nil, err
		}
	}
	g.left--
	g.copies++
	return s, nil
}

// put takes a slot back that nothing uses any more.
func (g *GPU) put(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = append(g.idle, s)
	g.left++
	g.copies--
}

// grow makes room for n copies.
func (s *slot) grow(ctx *cuda.Context, n int, onDevice bool) error {
	if n <= s.capacity {
		return nil
	}
	if err := s.shrink(); err != nil {
		return err
	}
	capacity := max(firstCapacity, 1<<bits.Len(uint(n-1)))
	list, err := ctx.NewCopyList(capacity)
	if err != nil {
		return err
	}
	s.list = list
	if onDevice {
		if s.table, err = ctx.Alloc(capacity * cuda.CopySize); err != nil {
			return errors.Join(err, s.shrink())
		}
	}
	s.capacity = capacity
	return nil
}

// shrink frees list and table.
func (s *slot) shrink() error {
	s.capacity = 0
	if s.table != nil {
		if err := s.table.Free(); err != nil {
			return err
		}
		s.table = nil
	}
	if s.list != nil {
		if err := s.list.Free(); err != nil {
			return err
		}
		s.list = nil
	}
	return nil
}

func (s *slot) free() error {
	if err := s.shrink(); err != nil {
		return err
	}
	return s.event.Close()
}
