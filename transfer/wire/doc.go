// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package wire holds the messages that two endpoints exchange, and the limits
// that each of their fields obeys (contract section 8).
//
// The promise: a message that passed [Message.Validate] has every field within
// its limit, so nothing behind it needs to check a length, a count or an enum
// again. A message that does not pass is answered by a *[FieldError] that names
// the field, and never by a panic.
//
// # What the caller does
//
//  1. Validate what came from outside before looking at any of it.
//  2. Never change a message, or a slice in it, after it was sent or received:
//     messages are shared.
//  3. Take the peer's name from the stream's Hello and from nowhere else. A
//     name inside of a message is a claim to be checked against it.
//
// The package has no encoding. A carrier (transfer/rpc, or a user's own) maps
// these types to bytes; the numbers of [Kind], [Evidence] and [Side] are stable
// and are the ones to use.
package wire
