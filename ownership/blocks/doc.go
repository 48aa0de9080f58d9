// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package blocks keeps who may still use each block of a registered arena: a
// paged allocator, as a key-value cache has, whose reference counts are claims
// (contract §10).
//
// The promise: a block is given out again only when its last pin is gone, and a
// pin goes only when its holder unpins it, by name and once. No time, cancel or
// end of a request drops a pin, and a repeated unpin drops nobody else's.
//
// # Words
//
// A block is a number with the generation of its allocation. A block table is a
// request's blocks, in its order. A pin is one named claim on a set of blocks,
// for one use: [Hold] keeps the content, [Read] is a transfer that reads it,
// [Write] one that overwrites it. Requests with the same prefix each Hold its
// blocks.
//
// # What the caller does
//
//  1. Allocates a block table with [Pool.Allocate], which pins it for its request.
//  2. Shares a prefix with another request by [Pool.Pin] with Hold.
//  3. Pins blocks for Read or Write before anybody hears of their addresses, and
//     unpins them on release by the ownership registry and on nothing else.
//     Package transfer does both.
//  4. Calls [Pool.Unpin] when a request ends. What a transfer still uses stays.
//
// # Concurrency
//
// All methods may be called from any goroutine and none blocks. The package has
// no goroutine and reads no clock. A batch costs time in proportion to its
// length, whatever the pool holds; a call that fails changed nothing.
package blocks
