// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package fsm is the runtime of the state machines that fsmgen generates: what
// offering an event to a machine can give, and the error of a refusal.
//
// The promise: every offered event gets exactly one [Result], so that "already
// so", "harmless" and "refused" are never confused, and a refusal is a static
// value that names machine, state, event and rule. Nothing here allocates.
//
// # What the caller does
//
//  1. Offers events through the generated Next (plain) or Machine (atomic).
//  2. Looks at the Result: [Moved] changed the state, [Duplicate] and [Ignored]
//     changed nothing and are no errors, [Rejected] and [Conflict] are.
//  3. Asks the generated Refusal for the error of the last two.
//
// The package imports the standard library alone.
package fsm
