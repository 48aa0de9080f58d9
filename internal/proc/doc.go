// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package proc runs one child process that never outlives its parent, and
// talks to it in lines of JSON.
//
// # The promise
//
// A child is gone when its parent is: the kernel kills it when the parent's
// thread that made it ends (PR_SET_PDEATHSIG), which a stopped child cannot
// hold up and a crashed parent cannot forget. That thread is kept alive until
// the child has been reaped, and it is the only one that waits for the child,
// so a stop, a continue and an exit are each seen exactly once.
//
// The child has a process group of its own: Ctrl-C reaches the parent only,
// which then decides in which order things end.
//
// Linux only: there is no portable word for any of this.
package proc
