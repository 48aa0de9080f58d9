// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/kvxfer/kvxfer/backend"
)

// span is memory with its shadow: what its bytes must be while nobody owns it.
// Both are in parts of one size.
type span struct{ bytes, shadow [][]byte }

func (s span) each(f func(bytes, shadow []byte, at int)) {
	at := 0
	for i, b := range s.bytes {
		f(b, s.shadow[i], at)
		at += len(b)
	}
}

// fill puts other content in, which only who has the memory back may do.
func (s span) fill(content []byte) {
	s.each(func(b, shadow []byte, at int) {
		copy(b, content[at:])
		copy(shadow, content[at:])
	})
}

func (s span) same() bool {
	same := true
	s.each(func(b, shadow []byte, _ int) { same = same && bytes.Equal(b, shadow) })
	return same
}

func (s span) has(b byte) bool {
	has := false
	s.each(func(part, _ []byte, _ int) { has = has || bytes.IndexByte(part, b) >= 0 })
	return has
}

func (s span) content() []byte { return bytes.Join(s.bytes, nil) }

// segments are for own copies, of one length whatever the parts.
func (s span) segments() (out []backend.Segment) {
	for _, b := range s.bytes {
		for part := range slices.Chunk(b, poolBlock) {
			out = append(out, backend.Segment{Addr: uint64(uintptr(unsafe.Pointer(&part[0]))), Len: uint64(len(part))})
		}
	}
	return out
}
