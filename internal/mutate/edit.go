// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"go/token"
	"slices"
)

// edit puts text in place of length bytes at an offset.
type edit struct {
	offset, length int
	text           string
	order          int // among those at one offset
}

func (f *finder) offset(p token.Pos) int { return f.pkg.fset.Position(p).Offset }

// wrap puts text around a part. Parts are wrapped from the outside in, so what comes
// first opens first and closes last; what closes at an offset does so before another
// opens there.
func (f *finder) wrap(from, to token.Pos, before, after string) {
	n := len(f.edits) + 1
	f.edits = append(f.edits,
		edit{offset: f.offset(from), text: before, order: n},
		edit{offset: f.offset(to), text: after, order: -n})
}

func (f *finder) replace(at token.Pos, length int, text string) {
	f.edits = append(f.edits, edit{offset: f.offset(at), length: length, text: text})
}

// apply returns the text with all edits.
func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.order, b.order))
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(text[at:e.offset])
		out.WriteString(e.text)
		at = e.offset + e.length
	}
	out.Write(text[at:])
	return out.Bytes()
}
