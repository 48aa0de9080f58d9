// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package fence says which evidence proves that an accessor can no longer reach
// memory, and which does not.
//
// The promise: [Judge] calls evidence a fence only where spec/fence.yaml does,
// which holds what was measured of each transport. A dead process, a closed agent
// or a broken connection by itself is proof on no transport where bytes can be on
// their way in between.
//
// # What the caller does
//
//  1. Collects [Evidence]: destroys his agent with [Destroy]; looks, with
//     [Process.Gone], whether the peer's process has ended; asks a person for a
//     [Statement].
//  2. Asks Judge what that proves for a transport and a direction.
//  3. Passes exactly that on, as a fence of scope own, passive, or all (contract
//     section 3).
//
// transfer.Endpoint.Reincarnate does all three for its own agent.
//
// Everything may be called from any goroutine.
package fence
