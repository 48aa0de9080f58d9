// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package trace writes what an endpoint's ownership rules were asked and what they
// answered, and checks such a file against the spec, offline.
//
// A trace is a text of JSON lines. The first one is a header; each further one is
// a step (a call with its inputs and its answer) or an effect (something that the
// step before it did). [Writer] makes one of a live registry; [Check] judges one:
// every step is made again on the generated systems, and what they do is compared
// with what the trace says; every effect must be a legal move; and the contract's
// invariants must hold. A trace may also consist of effects alone: then what needs
// the steps is not judged, and the rest is. That is how another engine's log is
// checked; see package trace/mapping.
//
// docs/traces.md describes the format. [Schema] is its JSON Schema.
package trace
