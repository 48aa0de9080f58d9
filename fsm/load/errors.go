// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Pos is a place in a spec file. Lines and columns count from 1; a column counts
// characters. The zero Pos means the file as a whole.
type Pos struct{ Line, Col int }

// Error is one mistake in a spec, at the place where the author made it.
type Error struct {
	File string
	Pos  Pos
	Msg  string // what is wrong, and what was expected
}

// Error gives file:line:col: text, the form that editors can follow.
func (e *Error) Error() string {
	if e.Pos.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Col, e.Msg)
}

// Errors collects mistakes, so that one run shows them all.
type Errors []*Error

// Add notes one mistake.
func (es *Errors) Add(file string, pos Pos, format string, args ...any) {
	*es = append(*es, &Error{File: file, Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

// Err returns the mistakes sorted by place, each once, or nil. The result can be
// taken apart with errors.As into *Error, and prints one mistake a line.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	sorted := slices.Clone(es)
	slices.SortStableFunc(sorted, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Msg, b.Msg))
	})
	sorted = slices.CompactFunc(sorted, func(a, b *Error) bool { return *a == *b })
	all := make([]error, len(sorted))
	for i, e := range sorted {
		all[i] = e
	}
	return errors.Join(all...)
}
