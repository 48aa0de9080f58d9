// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package scenario reads and runs scenarios: YAML files that say step by step
// what happened to owned memory, and what must be true after each step.
//
// The promise: a file that loads is run against the real registry of package
// ownership, on a virtual clock, and a run that passes means that every step
// ended as the file says, every expectation held, and none of the invariants
// I1 to I13, I16 and I17 was broken at any step, whatever the file expects.
//
// # What the caller does
//
//  1. Loads a file with [Load] or [Parse]. All mistakes of a file come at once,
//     each with file, line and column.
//  2. Runs it with [Run], and looks at the report's failures.
//
// Nothing here imports testing: the command line runs the very files that the
// tests run. A file holds no state between runs; runs may be concurrent.
package scenario
