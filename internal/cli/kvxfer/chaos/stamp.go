// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/binary"
	"fmt"
)

// stamp says whose bytes these are. Words of one stamp differ from each other and
// from those of any other: each holds the stamp and its own place.
type stamp uint32

// kind is what the memory is for.
type kind uint32

const (
	free  kind = iota // nobody owns it
	blank             // it waits for data
	data              // it is sent
)

// kindNames are for messages.
var kindNames = map[kind]string{free: "released memory", blank: "memory that waits for data", data: "data"}

// stampOf makes a stamp of a node, whose number is below 8, and a number that the
// node does not use again.
func stampOf(node int, k kind, number uint32) stamp {
	return stamp(uint32(node)<<29 | uint32(k)<<27 | number&(1<<27-1))
}

func (s stamp) kind() kind { return kind(s >> 27 & 3) }

// String says whose bytes these are.
func (s stamp) String() string {
	return fmt.Sprintf("%s of node %d, number %d", kindNames[s.kind()], s>>29, s&(1<<27-1))
}

// Each byte of a word depends on the whole of its stamp: multiplication carries
// upwards, and between two of them the upper half goes into the lower one. Each step
// can be undone.
const mix, unmix uint64 = 0x9e3779b97f4a7c15, 0xf1de83e19937733d

func (s stamp) word(i int) uint64 {
	w := (uint64(s)<<32 | uint64(uint32(i))) * mix
	return (w ^ w>>32) * mix
}

// origin is whose word this is, if it is one.
func origin(word uint64) (stamp, int) {
	word *= unmix
	word = (word ^ word>>32) * unmix
	return stamp(word >> 32), int(uint32(word))
}

// The bytes are written and read by other processes, of which the race detector knows
// nothing: it would only take ten times as long to look at them.

// fill stamps memory, whose length is a multiple of 8.
//
//go:norace
func (s stamp) fill(b []byte) {
	for i := range len(b) / 8 {
		binary.LittleEndian.PutUint64(b[8*i:], s.word(i))
	}
}

// wrong is a byte that must not be where it is.
type wrong struct {
	at    int
	owner stamp // whose word it is in
	known bool
	want  string
}

// Error says which byte, and whose.
func (w *wrong) Error() string {
	whose := "of nobody that is known"
	if w.known {
		whose = "of " + w.owner.String()
	}
	return fmt.Sprintf("byte %d is %s, want %s", w.at, whose, w.want)
}

// mixture counts the bytes of memory that was being written over: each must be as it
// was, or as it was to become.
//
//go:norace
func mixture(b []byte, was, becomes stamp) (arrived int, err error) {
	for i := range len(b) / 8 {
		got, old, next := binary.LittleEndian.Uint64(b[8*i:]), was.word(i), becomes.word(i)
		switch got {
		case next:
			arrived += 8
			continue
		case old:
			continue
		}
		for k := range 8 {
			switch byte(got >> (8 * k)) {
			case byte(next >> (8 * k)):
				arrived++
			case byte(old >> (8 * k)):
			default:
				s, at := origin(got)
				return arrived, &wrong{at: 8*i + k, owner: s, known: at == i, want: becomes.String() + ", or as it was"}
			}
		}
	}
	return arrived, nil
}

// untouched says which byte is not of this stamp.
//
//go:norace
func (s stamp) untouched(b []byte) error {
	for i := range len(b) / 8 {
		if got := binary.LittleEndian.Uint64(b[8*i:]); got != s.word(i) {
			other, at := origin(got)
			return &wrong{at: 8 * i, owner: other, known: at == i, want: s.String()}
		}
	}
	return nil
}
