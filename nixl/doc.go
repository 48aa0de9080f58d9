// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package nixl is a Go binding of NIXL, the library that moves memory between
// processes and machines with one-sided operations.
//
// The promise: a call never lets go of a transfer that may still touch memory.
// NIXL itself answers success to the release of a running transfer and goes on
// reading and writing; here [Request.Release] and [Registration.Deregister]
// refuse that with [ErrInFlight] before NIXL hears of it, and a request that
// once answered with an error stays retained and never becomes done.
//
// NIXL is opened while the program runs and never linked. [Open] finds it,
// sets the environment that lets it live in a Go process (signals, standard
// output, memory hooks), refuses versions that are known to crash, and says
// what it looked for when there is none. In a build without cgo Open says so.
//
// What every answer of NIXL proves is one table, [Evidences].
//
// Memory of all kinds can be registered and moved: main memory, GPUs, block
// devices, objects and files. For storage the peer is the agent's own name.
//
// # Duties of the caller
//
//  1. Register memory that the Go runtime does not manage: mapped or C memory,
//     never a slice that the garbage collector owns.
//  2. Keep it mapped as long as a peer may use metadata that names it, also
//     after Deregister: NIXL's deregistration is no fence and no protection,
//     and over TCP a peer's write to unmapped memory kills this process.
//  3. Either leave the progress thread on, or call [Agent.Notifications] or
//     [Agent.Poll] regularly: without progress nothing moves over TCP.
//  4. Over TCP prefer [Write]: the death of a reader can abort the process
//     that is read from, inside UCX, where no Go code can catch it.
//
// # Concurrency
//
// Every method may be called from any goroutine. [Agent.Destroy] waits for
// running calls and every later call answers [ErrClosed]. [Request.Post] is a
// blocking call: between processes of one host the copy happens inside it.
package nixl
