// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/transfer"
)

// slot is memory of one transfer at a time: a chunk and its digest, or a note.
type slot struct {
	arena  *memory.Arena
	region *transfer.Region
	room   int64 // bytes before the digest
	of     *slots
}

// slots are those of one kind in one life. They are taken by who makes a
// transfer, and come back when that was released on proof; never before.
type slots struct {
	all  []*slot
	free chan *slot
}

// newArenas maps the memory of a node, which its lives use one after the other.
func newArenas(n int, size int64) ([]*memory.Arena, error) {
	var list []*memory.Arena
	for range n {
		a, err := memory.New(memory.Spec{Len: int(size), HugePages: size >= memory.HugePageSize, Prefault: true})
		if err != nil {
			return nil, errors.Join(err, closeArenas(list))
		}
		list = append(list, a)
	}
	return list, nil
}

func closeArenas(list []*memory.Arena) error {
	var errs []error
	for _, a := range list {
		errs = append(errs, a.Check(), a.Close())
	}
	return errors.Join(errs...)
}

// register makes slots of arenas.
func register(ep *transfer.Endpoint, kind string, arenas []*memory.Arena, room int64) (*slots, error) {
	s := &slots{free: make(chan *slot, len(arenas))}
	for i, a := range arenas {
		region, err := ep.Register(kind+strconv.Itoa(i), a)
		if err != nil {
			return nil, err
		}
		one := &slot{arena: a, region: region, room: room, of: s}
		s.all = append(s.all, one)
		s.free <- one
	}
	return s, nil
}

// take waits for a slot.
func (s *slots) take(ctx context.Context) (*slot, error) {
	select {
	case one := <-s.free:
		return one, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// back gives a slot back, whose memory nobody touches any more.
func (s *slot) back() { s.of.free <- s }

// bytes is the memory of n bytes of data.
func (s *slot) bytes(n int64) []byte { return s.arena.Bytes()[:n] }

// sum is where the digest of the data is.
func (s *slot) sum() []byte { return s.arena.Bytes()[s.room : s.room+int64(len(Digest{}))] }

// blocks are n bytes and their digest.
func (s *slot) blocks(n int64) []transfer.Block {
	d := transfer.Block{Offset: uint64(s.room), Len: uint64(len(Digest{}))}
	if n == 0 {
		return []transfer.Block{d}
	}
	return []transfer.Block{{Len: uint64(n)}, d}
}

// settle waits for a session's outcome and for the proof that its memory is
// free, and gives the slot back then; without proof the slot stays owned. When
// ctx ends the session is cancelled, and the proof awaited for as long as the
// life lasts.
func (l *life) settle(ctx context.Context, s *transfer.Session, one *slot, take func() error) error {
	err := s.Wait(ctx)
	if ctx.Err() != nil {
		_, _ = s.Cancel()
	}
	if drained := s.Drain(l.ctx); drained != nil {
		return errors.Join(err, fmt.Errorf("files: %w", drained))
	}
	if err == nil && take != nil {
		err = take()
	}
	one.back()
	return err
}
