// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos does harm to real processes that move data through NIXL, and
// checks every byte afterwards.
//
// A run has two or three nodes, each a process of its own with an endpoint and a
// few regions, and one fault. The first process only gives orders, stops and kills.
//
// # What is checked
//
// Every byte of every region is a stamp, which says whose it is (see stamp). A
// region that nobody owns has one that is new since its release: a byte written to
// it after that is seen when it is used again, or at the end; a byte read from it
// after that is seen where it arrives. What arrived has to be that of the very
// request, and where the outcome is a success, all of it.
//
// Every owner ends released, or retained with a reason. No handle of NIXL, file,
// thread, goroutine or memory is left over, and after an orderly end no handle at all.
//
// Every process writes a trace. Each is checked against the spec, and all of them
// against each other (package trace); one that was killed is checked as far as it goes.
package chaos
