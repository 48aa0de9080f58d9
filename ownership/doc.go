// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package ownership decides when memory that asynchronous hardware may touch
// can be reused.
//
// The promise: from before an address becomes observable to an accessor until
// there is positive evidence that the accessor can no longer touch the memory,
// the memory stays owned. A cancel, a timeout, an error, the end of a session,
// a dropped connection or a dead process is no such evidence (contract §1).
// Whether the data was delivered is another question with its own answer, and
// neither answers the other.
//
// # What the caller does
//
//  1. Calls [Registry.AddPiece] before anybody hears of an address, and
//     [Registry.Seal] before the first byte of a message with the address, or
//     the first post of an operation, leaves.
//  2. Passes every report of a peer and every status of an own operation on,
//     under the whole [ClaimName] and with the time at which it arrived.
//  3. Calls [Registry.Tick] when [Registry.NextDeadline] says so.
//  4. Sends what the outbox holds, in order: [Registry.Peek], [Registry.Delivered].
//  5. Takes memory back on a [Released] effect and on nothing else.
//
// # Decisions
//
// What is decided about a piece, a session, its clocks, a region, a peer's messages
// and admission is the state of a system generated from spec/ (receive, send,
// session, retirement, region, member, admission), where every invariant is proved
// by visiting every state. This package looks names up, makes the call, carries the
// effects out and keeps the tables that the systems ask about.
//
// # Time
//
// The package reads no clock. Each call takes at, the monotonic time since an
// epoch of the caller's choice that no call of the same registry may change.
// Deadlines are judged at every call, half open: what happens at exactly the
// deadline is too late (contract §6).
// A time before the epoch counts as the epoch.
//
// # Concurrency
//
// Every method of a [Registry] may be called from any goroutine and none
// blocks: no lock is held across a callback, a publication or a backend call,
// because the registry makes none of them. It starts no goroutine and does no
// input or output. The same calls in the same order give the same effects.
package ownership
