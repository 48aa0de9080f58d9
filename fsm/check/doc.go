// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package check explores every reachable state of a system and judges its
// properties: of states, of steps, after events, and liveness under fairness.
//
// The promise: [Proved] is said only after every reachable state was visited, with
// exact state comparison; [Violated] comes with a shortest run that shows it; what
// could not be finished is [NotFinished], with the number of states explored.
//
// # How it is fast
//
//  1. A system with a number of replicas is grounded: quantifiers and loops are
//     unrolled, parameters become constants, each variable has bits in a small word
//     (one word for each replica, a few for the rest).
//  2. A reachable word gets a small number, and a state is these numbers side by side
//     in 64 bits. For each word it is known which actions it rules out, so that a few
//     loads and ANDs find the actions that can be enabled.
//  3. An action is run by a plain interpreter that notes what it reads. What it did is
//     kept in a decision tree over those variables; the same reads never run again.
//     Properties that a step can touch are judged in the same run.
//  4. The queue holds 8 bytes a state and no parent pointers: a shortest run is found
//     again by walking the levels back. Visited states are a hash set at first, and then
//     a bitmap over what the known words allow; with symmetry over the multisets of them.
//
// The package reads no clock but for its progress line, and writes nothing.
package check
