// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package health watches GPUs through NVML, for what a stream of CUDA does not
// tell by itself: an Xid, a memory error, a device that fell off the bus.
//
// The promise: what it sees is never proof. A [Fact] may put local claims in
// doubt or close admission; none says that anything has ended. A device that
// looks well again proves nothing about what it did before.
//
// NVML is opened while the program runs. [Open] fails with an
// *[UnavailableError] where it is not there, and in a build without cgo.
//
// # Concurrency
//
// Every method of a [Monitor] may be called from any goroutine.
package health
