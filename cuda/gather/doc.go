// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package gather collects scattered blocks into a contiguous send buffer, and
// scatters a received buffer into blocks: as one kernel launch, by the copy
// engines of a GPU, or by the CPU, all behind one interface.
//
// The promise: a copy is a [backend.Local], a claim of its own on the memory
// that it reads or writes (contract section 4). It holds that memory from the
// moment it is built until [backend.Local.Release], which is refused until the
// copy is proven to have ended, or never to have begun.
//
// # What returns when
//
//	memory                       returns after
//	blocks that a gather reads   the gather is done
//	the bounce slot              everything: gather or scatter, and every peer
//	blocks that a scatter fills  the scatter is done
//
// A slot of a [Bounce] is asked for at the owner's registry, which knows the
// peers; blocks are held by the copy alone.
//
// # Duties of the caller
//
//  1. Name every block exactly: a scatter's blocks may not overlap, and blocks
//     and buffer have the same length in sum. What is wrong is refused when the
//     copy is built, before anything is published.
//  2. Give a gather the events of the kernels that write its blocks (After), or
//     make the event itself the local copy ([Producer]).
//  3. Do not write a gather's blocks, nor read a scatter's, before it is done.
//
// # Concurrency
//
// Engines and bounce arenas may be used from any goroutine, a copy as
// [backend.Local] says.
package gather
