// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package dl opens shared libraries while the program runs, so that a binary
// builds and starts on machines that do not have them.
//
// Every failure keeps the loader's own words: they name the missing
// dependency, which is what the user has to install. Without cgo, or on a
// system other than Linux, [Open] fails with an [OpenError] that says so.
//
// A [Library] may be used from any goroutine; Close must not run beside
// another call or while a symbol of the library is still used.
package dl

import (
	"errors"
	"fmt"
	"unsafe"
)

var (
	// ErrNoLibrary is matched by every failure to open a library.
	ErrNoLibrary = errors.New("dl: shared library not available")
	// ErrNoSymbol is matched by every failure to find a symbol.
	ErrNoSymbol = errors.New("dl: symbol not found")
)

// Symbol is the address of a C function or object. It is never Go memory.
type Symbol = unsafe.Pointer

// OpenError says why a library could not be opened.
type OpenError struct {
	Name   string // as given to Open
	Reason string // the loader's own words
}

// Error names the library and repeats the loader.
func (e *OpenError) Error() string { return fmt.Sprintf("dl: open %q: %s", e.Name, e.Reason) }

// Is makes every OpenError match [ErrNoLibrary].
func (e *OpenError) Is(target error) bool { return target == ErrNoLibrary }

// SymbolError says which symbol an open library does not export.
type SymbolError struct {
	Library string
	Symbol  string
	Reason  string // the loader's own words
}

// Error names library and symbol and repeats the loader.
func (e *SymbolError) Error() string {
	return fmt.Sprintf("dl: symbol %q in %q: %s", e.Symbol, e.Library, e.Reason)
}

// Is makes every SymbolError match [ErrNoSymbol].
func (e *SymbolError) Is(target error) bool { return target == ErrNoSymbol }
