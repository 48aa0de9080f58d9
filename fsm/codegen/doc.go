// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package codegen turns specs into Go source: one package a spec.
//
// The promise: the same specs give the same bytes, gofmt-clean, with the
// standard generated marker and the hash of the spec, and without a date, a host
// or a path. Output is built whole in memory; writing files is the caller's work.
//
// A machine becomes enums, a dense table with Next over it, static refusals and an
// atomic Machine. A decision table becomes enums and Decide over a dense array.
package codegen
