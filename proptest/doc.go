// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package proptest holds the property suite: long random lives of everything
// that kvxfer decides, compared after each step with [model], a second and
// independent statement of the contract.
//
// It has tests alone:
//
//   - a generated machine beside the model's table and looplab/fsm;
//   - one owner with up to eight accessors, and evidence in every order;
//   - a whole registry, with attempts, regions, block pins, bounds and a clock;
//   - two endpoints joined by a hostile network, over memory that notices a
//     touch after release;
//   - the ranks of a group on a store that fails, with processes that die.
//
// A refusal is an answer: the model says which kind it must be. What fails is
// shrunk, printed, and written as a scenario file for "kvxfer replay".
// docs/conformance.md tells how to run the suite, for a minute or for a night.
package proptest
