// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"testing"
)

func TestBlocks(t *testing.T) {
	a := newArena(t, Spec{Len: 12 << 10})
	b, err := a.Blocks(4 << 10)
	if err != nil {
		t.Fatal(err)
	}
	if b.Count() != 3 || b.Size() != 4<<10 {
		t.Fatalf("%d blocks of %d", b.Count(), b.Size())
	}
	for i := range b.Count() {
		block, err := b.Bytes(i)
		if err != nil {
			t.Fatal(err)
		}
		at, err := b.Offset(i)
		if err != nil {
			t.Fatal(err)
		}
		if at != i*4<<10 || len(block) != b.Size() || cap(block) != b.Size() || &block[0] != &a.Bytes()[at] {
			t.Errorf("block %d: offset %d, len %d, cap %d", i, at, len(block), cap(block))
		}
	}
	for _, i := range []int{-1, 3, 1 << 30} {
		_, err := b.Bytes(i)
		var index *IndexError
		if !errors.As(err, &index) || !errors.Is(err, ErrIndex) || index.Index != i || index.Count != 3 {
			t.Errorf("block %d: got %v", i, err)
		}
	}
}

func TestBlocksRefusesSizes(t *testing.T) {
	a := newArena(t, Spec{Len: 100})
	for size, want := range map[int]string{
		0:   "memory: block size 0: must be between 1 and 100 bytes",
		-4:  "memory: block size -4: must be between 1 and 100 bytes",
		101: "memory: block size 101: larger than the limit of 100 bytes",
		33:  "memory: block size 33: does not divide the 100 bytes of the range",
	} {
		if _, err := a.Blocks(size); !errors.Is(err, ErrSize) || err.Error() != want {
			t.Errorf("size %d: got %v, want %s", size, err, want)
		}
	}
	if (Blocks{}).Count() != 0 {
		t.Error("the zero view has blocks")
	}
}
