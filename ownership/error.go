// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"strings"
)

// Kind is the kind of an error, in the contract's order: when several apply,
// the first is given (contract §11).
type Kind uint8

// The kinds of errors.
const (
	_            Kind = iota
	KindInvalid       // invalid_argument: the call itself is malformed
	KindStale         // the name is not, or no longer, the current one; counted
	KindFatal         // the registry is FATAL: nothing new, nothing retires
	KindClosed        // admission, or the session, takes nothing more
	KindConflict      // contradictory evidence: the owner is invalid from now on
	KindReject        // the caller's mistake
	KindRefused       // still owned
	KindCapacity      // a bounded table is full
)

var kindNames = [...]string{
	KindInvalid: "invalid_argument", KindStale: "stale", KindFatal: "fatal", KindClosed: "closed",
	KindConflict: "conflict", KindReject: "reject", KindRefused: "refused", KindCapacity: "capacity",
}

// String returns the contract's name, such as "invalid_argument".
func (k Kind) String() string { return name(kindNames[:], int(k), "kind of error") }

// IsValid reports whether k is one of the eight kinds.
func (k Kind) IsValid() bool { return k >= KindInvalid && k <= KindCapacity }

// Sentinels for errors.Is, one a kind. Every error of this package matches
// exactly one of them. Except for ErrConflict, ErrStale and a refused Stop, a
// call that fails changed nothing.
var (
	ErrInvalidArgument = errors.New("ownership: invalid argument")
	ErrStale           = errors.New("ownership: stale")
	ErrFatal           = errors.New("ownership: fatal")
	ErrClosed          = errors.New("ownership: closed")
	ErrConflict        = errors.New("ownership: conflict")
	ErrReject          = errors.New("ownership: reject")
	ErrRefused         = errors.New("ownership: refused")
	ErrCapacity        = errors.New("ownership: capacity")
)

var sentinels = [...]error{
	KindInvalid: ErrInvalidArgument, KindStale: ErrStale, KindFatal: ErrFatal, KindClosed: ErrClosed,
	KindConflict: ErrConflict, KindReject: ErrReject, KindRefused: ErrRefused, KindCapacity: ErrCapacity,
}

// Error is the one error type of this package.
type Error struct {
	Kind Kind
	// What names the thing that the call was about: a claim, a piece, a session,
	// a region, "registry".
	What string
	// Why says what is wrong with it, in words.
	Why string
	// Retained lists what stands in the way, with Kind refused.
	Retained []Retained
	// Err is the refusal of a machine, or an error of the caller's function; may be nil.
	Err error
}

// Error returns the kind, the thing and what is wrong with it in one line. Of
// a list of retained things it gives the first and how many more there are.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("ownership: ")
	if e.What != "" {
		b.WriteString(e.What)
		b.WriteString(": ")
	}
	b.WriteString(e.Kind.String())
	if e.Why != "" {
		b.WriteString(": ")
		b.WriteString(e.Why)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	writeRetained(&b, e.Retained)
	return b.String()
}

// Is reports whether target is the sentinel of e's kind.
func (e *Error) Is(target error) bool { return e.Kind.IsValid() && target == sentinels[e.Kind] }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, 0 for any other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

func fail(k Kind, what, why string) *Error { return &Error{Kind: k, What: what, Why: why} }
