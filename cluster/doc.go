// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster makes the ranks that one request lives on retire it together
// (contract section 9): a rank gives its memory of a failed or cancelled
// request back only when every rank has drained. A success may be given back
// as soon as every rank has succeeded.
//
// # The rule
//
// Each rank writes what it knows of its own part of a request, a State, to a
// [Store], and applies what all ranks wrote in the order of the store's
// revisions. What that means for a request is decided by spec/ranks.yaml alone,
// from that order alone, so every rank comes to the same decision at the same
// revision. A rank that was not heard is a live claim. The end of a rank's
// lease is doubt: it ends the request for all and proves nothing. Only a
// [Fence] is proof, and a fence is a record in the store as well.
//
// # Names
//
// A rank's process has an incarnation. A request has a cohort: exactly one
// incarnation of each rank, those that were registered at the request's epoch.
// The creator of the request takes [Rank.Epoch] once and sends it along; each
// rank opens the request under it with [Rank.Open], which refuses if this
// process is not the one in the cohort. So a new incarnation never answers for
// an old one, and a rank that was replaced without knowing it cannot take part.
//
// A process that was cut off for longer than its lease goes on under a new
// incarnation. What it held under the old one is in doubt everywhere. Once all
// of that is drained, it writes the fence of its own old incarnation.
//
// # Writes
//
// A rank makes at most two writes a tick, whatever the number of requests: one
// with all statements that came up meanwhile, one that deletes what nobody
// needs any more. Nothing polls: the watch of the store drives everything.
//
// # Goroutines
//
// A Rank has one goroutine that watches, one that writes, one that keeps the
// lease. Functions in [Config] are called from the first, without any lock.
//
// Package cluster/memstore is a store in memory, cluster/etcd one in etcd, and
// cluster/storetest says what any other one must do.
package cluster
