// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package model is the ownership contract once more: plain, short and slow, and
// written from its text alone. It shares no code with the packages that it
// judges and imports the standard library only, so that one mistake is not made
// twice.
//
// States, events, statuses and kinds of errors are the contract's own words, as
// text; the empty text is success. Nothing is cached: whatever can be worked out
// from the claims is worked out again each time somebody asks.
//
// A [Registry] here is a plain value for one goroutine. Its calls have the names
// of the library's, take the same virtual time and return the kind of the error
// that the contract asks for.
package model
