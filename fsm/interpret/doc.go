// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package interpret runs a system of the spec language call by call, straight from
// its typed trees: no packing, no memory of earlier steps, no code generation. It is
// slow and plain on purpose, as it is what the checker, generated code and
// hand-written code are compared with.
//
// The promise: after every call the state is what the spec says, hidden variables
// included; a refused call changes nothing but what the refusal itself says; the
// effects are listed in the order in which they were asked for.
//
// A State is not safe for concurrent use.
package interpret
