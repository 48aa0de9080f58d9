// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package transfer moves bytes between the memory of two endpoints and gives
// memory back only on proof that nobody can still touch it. It is the runtime
// around package ownership, which decides, and package backend, which moves.
//
// The promise: a region that takes part in a transfer stays allocated,
// registered and un-reused until there is positive evidence that no peer and no
// operation of ours can touch it. A cancel, a timeout, an error, a lost stream
// or a dead process ends the wait for the data and never the ownership of the
// memory (contract section 1).
//
// # What the caller does
//
//  1. Makes an [Endpoint] with [New], and says in [Config.Contain] what happens
//     when memory cannot be proven free in time.
//  2. Registers memory with [Endpoint.Register], and attaches a [Stream] to each
//     peer with [Endpoint.Attach]. When a [Link] ends he attaches another one;
//     reports and requests go on where they stopped.
//  3. On the side that wants data calls [Endpoint.Receive]; on the other side
//     answers each [Request] with [Request.Send] or [Request.Refuse]. Or the side
//     that has data calls [Endpoint.Offer], and the other answers with
//     [Request.Fetch]: a READ instead of a WRITE.
//  4. Waits with [Session.Wait] for the logical answer, and then with
//     [Session.Drain] until the memory is proven free and given back. One does
//     not follow from the other: a cancelled session may be written to for long.
//  5. Puts new content into a region only after [Region.Reuse] said yes.
//     A paged cache is registered once and divided with [Region.Pool]; transfers
//     then own sets of its blocks, see [Pool.Region].
//  6. Says now and then, with [Endpoint.Watermark], which of the requests that
//     he created are over for good, so that no record of them is kept.
//  7. Gets out of doubt with [Endpoint.Reincarnate], or by evidence that package
//     fence accepts and [Endpoint.Fence] applies.
//  8. Ends with [Endpoint.Stop], which refuses while anything is not proven.
//
// # Goroutines
//
// An endpoint has one goroutine that polls all operations in one backend call a
// pass, one that watches deadlines and makes no call that can block, one that
// delivers events, one that writes the log, and two for each attached stream. A Post and a Connect run
// on goroutines of their own. No lock is held across a call of a backend, a
// stream or a function of the caller. When nothing is in flight nothing runs.
//
// # Names
//
// A peer is known by the name in its Hello and nothing else: how far that name
// is to be trusted is the stream's matter. An endpoint that restarts keeps its
// name and has a new incarnation; whatever its old life may still touch is then
// in doubt, and its late reports are stale.
package transfer
