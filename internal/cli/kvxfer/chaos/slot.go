// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"

	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/transfer"
)

// slot is one region and what its bytes should be.
type slot struct {
	index  int
	arena  *memory.Arena
	region *transfer.Region
	stamp  stamp // of its bytes, while nobody owns it
}

func (n *node) newSlot(i int) (*slot, error) {
	arena, err := memory.New(memory.Spec{Len: n.job.Bytes, Prefault: true})
	if err != nil {
		return nil, err
	}
	s := &slot{index: i, arena: arena}
	if s.region, err = n.ep.Register(fmt.Sprint("region-", i), arena); err != nil {
		return nil, err
	}
	n.relabel(s)
	return s, nil
}

// relabel gives released memory a stamp that it never had.
func (n *node) relabel(s *slot) {
	s.stamp = stampOf(n.job.Node, free, n.number())
	s.stamp.fill(s.arena.Bytes())
}

// take takes a region that nobody owns, or none. Nobody may have written to it.
func (n *node) take() *slot {
	select {
	case s := <-n.slots:
		n.look(s)
		return s
	default:
		return nil
	}
}

// give takes a region back, of which there is proof.
func (n *node) give(s *slot) {
	if err := s.region.Reuse(); err != nil {
		n.broken("region %d was released and may not be used: %v", s.index, err)
	}
	n.relabel(s)
	n.slots <- s
}

// look checks a region that nobody owns, byte by byte.
func (n *node) look(s *slot) {
	if err := s.stamp.untouched(s.arena.Bytes()); err != nil {
		n.broken("region %d was written to after its release: %v", s.index, err)
	}
	n.count(len(s.arena.Bytes()))
}

func (n *node) count(bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checked += int64(bytes)
}

// check looks at all regions that nobody owns.
func (n *node) check() {
	for range len(n.slots) {
		if s := n.take(); s != nil {
			n.slots <- s
		}
	}
}
