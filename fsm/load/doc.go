// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package load reads specs: YAML files that each describe one machine, one
// decision table or one system.
//
// The promise: what it returns without an error is complete. Every name is
// defined, every cell and every combination has exactly one answer, every name
// has a Go name of its own. What it refuses, it refuses whole: all mistakes of
// all files, sorted, each as file:line:col with what was expected.
//
// # How a spec is read
//
//  1. [Bytes] parses one file into YAML nodes; anchors, aliases, merge keys, tags,
//     duplicate keys and unknown keys are mistakes (nodes keep positions, which
//     decoding into structs would lose).
//  2. The kind's reader turns the nodes into a [Machine] or a [Table].
//  3. [NewSet] resolves what one spec says about another.
//
// It writes nothing and knows nothing of Go code generation but the rules of names.
package load
