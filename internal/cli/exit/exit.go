// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package exit names the exit codes that fsmgen and kvxfer share. Scripts rely
// on the numbers: a number is never reused for another meaning.
package exit

// The codes, from harmless to serious. Interrupted follows the shell's rule of
// 128 plus the number of the signal.
const (
	// OK says that everything asked for was done.
	OK = 0
	// Finding says that the command worked and found something: a diff, a
	// broken rule, a failed scenario.
	Finding = 1
	// Usage says that a flag, an argument or a spec is wrong.
	Usage = 2
	// Env says that the environment lacks something: a library, a driver, a
	// server, a readable file.
	Env = 3
	// Fatal says that the registry latched FATAL and was contained (contract §6).
	Fatal = 4
	// Retained says that memory is retained because proof is missing (contract §1).
	Retained = 5
	// Peer says that the peer or the protocol failed.
	Peer = 6
	// Interrupted says that the user stopped the command (SIGINT).
	Interrupted = 130
)
