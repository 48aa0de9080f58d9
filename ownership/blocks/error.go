// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"errors"
	"strings"
)

// Sentinels for errors.Is. Every error of this package is an *Error and matches
// exactly one of them.
var (
	ErrInvalid   = errors.New("invalid argument")
	ErrRange     = errors.New("no such block")
	ErrRepeated  = errors.New("named twice in one batch")
	ErrStale     = errors.New("stale")             // that allocation, or that pin, is over
	ErrUnknown   = errors.New("no such pin")       // the name was never given
	ErrNotPinned = errors.New("not of this pin")   // another pin's block
	ErrInUse     = errors.New("in use")            // another pin's use forbids this one
	ErrExhausted = errors.New("not enough blocks") // all or none
	ErrPinned    = errors.New("still pinned")      // Close
	ErrFrozen    = errors.New("frozen")            // after Freeze
	ErrClosed    = errors.New("closed")            // after Close
)

// Error is the one error type of this package.
type Error struct {
	Kind error // one of the sentinels
	// Pin is the pin that the call named, or wished for: then its sequence is 0.
	Pin Name
	// Block is the first block that is wrong, zero where no single one is.
	Block Block
	// By is who is in the way; zero where nobody is, or more than one.
	By  Name
	Why string // in words, may be empty
}

// Error returns block, pin and what is wrong in one line.
func (e *Error) Error() string {
	parts := make([]string, 0, 5)
	parts = append(parts, "blocks")
	if e.Pin.Sequence != 0 {
		parts = append(parts, "pin "+e.Pin.String())
	} else if e.Pin.Holder != "" {
		parts = append(parts, "pin for "+e.Pin.Holder)
	}
	if e.Block != (Block{}) {
		parts = append(parts, "block "+e.Block.String())
	}
	parts = append(parts, e.Kind.Error())
	if e.Why != "" {
		parts = append(parts, e.Why)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }
