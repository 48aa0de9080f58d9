// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package cuda is a Go binding of the CUDA driver, for memory that a GPU may
// still be touching.
//
// The promise: memory that was given to a copy or a kernel is not freed before
// an event has proven that the work has ended. [Memory.Free] refuses it with
// [ErrInFlight], and an error of the driver is never such proof: after one, the
// whole context is in doubt for good ([ErrInDoubt]), whatever it answers later.
//
// The driver is opened while the program runs and never linked: a program
// builds and starts on a machine without a GPU, where [Open] says what is
// missing and what to do. In a build without cgo Open says so.
//
// # Evidence
//
// An event is recorded in a stream behind work, and [Event.Query] reads it:
//
//	CUDA_SUCCESS          EventDone      the work before the record has ended
//	CUDA_ERROR_NOT_READY  EventPending   it has not, yet
//	anything else         EventInDoubt   nobody knows; sticky for the context
//
// An event that was never recorded answers success in CUDA. Here it is
// [ErrNotRecorded]: it has proven nothing.
//
// # Duties of the caller
//
//  1. Record an event behind all work, and query it until it is done. What no
//     event stands behind is held for good.
//  2. Give [Stream.Launch] all the memory that the kernel touches: its
//     parameters are bytes, in which the package cannot find addresses.
//  3. Know what an event, or [Stream.Synchronize], does not say: that a peer or
//     a NIC has ended. They know nothing of this device's streams. A local
//     synchronise is no proof about a remote writer (contract section 1).
//
// # Concurrency
//
// Every method may be called from any goroutine. Work that several goroutines
// give to one stream runs in the order in which the calls got there.
package cuda
