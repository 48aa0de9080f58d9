// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cgo || !linux

package dl

// Supported says whether this build can open libraries at all.
const Supported = false

const stubReason = "built without cgo, or not for linux: opening libraries needs both"

// Library is one open shared library; this build can never have one.
type Library struct{}

// Open always fails in this build.
func Open(name string) (*Library, error) {
	return nil, &OpenError{Name: name, Reason: stubReason}
}

// Name is what the library was opened by.
func (l *Library) Name() string { return "" }

// Must always fails in this build.
func (l *Library) Must(symbol string) (Symbol, error) {
	return nil, &SymbolError{Symbol: symbol, Reason: stubReason}
}

// Maybe finds nothing in this build.
func (l *Library) Maybe(string) Symbol { return nil }

// Origin knows nothing in this build.
func (l *Library) Origin(Symbol) string { return "" }

// Close does nothing in this build.
func (l *Library) Close() error { return nil }
