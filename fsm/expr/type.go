// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"strings"
)

// Kind is the kind of a type. The zero value is no kind.
type Kind uint8

// The kinds of values.
const (
	_     Kind = iota
	Bool       // false or true, 0 or 1
	Int        // a whole number from Lo to Hi
	Enum       // one of Values; the value is its index
	Index      // a member of an index set, from 0
	Set        // a subset of an index set, as a bit mask
)

// Type is the type of an expression or a variable. Types of kind Enum, Index and
// Set are equal only if they are the same pointer, or have the same Over.
type Type struct {
	Kind   Kind
	Name   string            // as the spec writes it
	Lo, Hi int               // Int: the bounds, both included
	Values []string          // Enum
	Tags   map[string]uint64 // Enum: the values that have a tag, as a bit mask
	Over   *IndexSet         // Index and Set
	Time   bool              // Int: a point in time; a duration in Go
}

// IndexSet is a set of replicas, such as the accessors of a piece.
type IndexSet struct {
	Name string
	Max  int // the most members that a system may have
	Doc  string
	Elem *Type // Kind Index
	Sub  *Type // Kind Set
}

// NewIndexSet returns the set with its two types.
func NewIndexSet(name string, maximum int) *IndexSet {
	s := &IndexSet{Name: name, Max: maximum}
	s.Elem = &Type{Kind: Index, Name: name, Over: s}
	s.Sub = &Type{Kind: Set, Name: "set[" + name + "]", Over: s}
	return s
}

// BoolType is the only type of kind Bool.
var BoolType = &Type{Kind: Bool, Name: "bool", Hi: 1}

// intType is the type of literals and sums: an integer without bounds of its own.
var intType = &Type{Kind: Int, Name: "int", Lo: -1 << 31, Hi: 1<<31 - 1}

// timeType is intType for sums of times.
var timeType = &Type{Kind: Int, Name: "time", Lo: -1 << 31, Hi: 1<<31 - 1, Time: true}

// Results is the type of what offering an event to a machine gives; the values are
// those of fsm.Result, less one.
var Results = &Type{Kind: Enum, Name: "result", Values: []string{"moved", "duplicate", "ignored", "rejected", "conflict"}}

// IntType returns the type of whole numbers from lo to hi.
func IntType(lo, hi int) *Type {
	return &Type{Kind: Int, Name: fmt.Sprintf("%d..%d", lo, hi), Lo: lo, Hi: hi}
}

// Size is the number of values of t; for Index and Set with n replicas.
func (t *Type) Size(n int) int {
	switch t.Kind {
	case Bool:
		return 2
	case Int:
		return t.Hi - t.Lo + 1
	case Enum:
		return len(t.Values)
	case Index:
		return n
	case Set:
		return 1 << n
	}
	return 0
}

// Low is the smallest value of t.
func (t *Type) Low() int {
	if t.Kind == Int {
		return t.Lo
	}
	return 0
}

// Lookup returns the value of an enum by its name.
func (t *Type) Lookup(name string) (int, bool) {
	for i, v := range t.Values {
		if v == name {
			return i, true
		}
	}
	return 0, false
}

// Format writes the value v of t in the words of the spec.
func (t *Type) Format(v int) string {
	switch t.Kind {
	case Bool:
		return fmt.Sprint(v != 0)
	case Enum:
		if v >= 0 && v < len(t.Values) {
			return t.Values[v]
		}
	case Set:
		var in []string
		for i := 0; v>>i != 0; i++ {
			if v>>i&1 != 0 {
				in = append(in, fmt.Sprint(i+1))
			}
		}
		return "{" + strings.Join(in, ",") + "}"
	case Index:
		return fmt.Sprint(v + 1)
	}
	return fmt.Sprint(v)
}

// String names the type for messages.
func (t *Type) String() string {
	if t.Kind == Enum && len(t.Values) <= 12 {
		return t.Name + " (" + strings.Join(t.Values, ", ") + ")"
	}
	if t.Kind == Index {
		return "a member of " + t.Name
	}
	return t.Name
}

// fits reports whether a value of type from may stand where to is expected.
func fits(from, to *Type) bool {
	if from == to || from.Kind == Int && to.Kind == Int {
		return true
	}
	return from.Kind == to.Kind && (from.Kind == Bool || from.Over != nil && from.Over == to.Over)
}
