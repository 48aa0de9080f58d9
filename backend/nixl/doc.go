// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package nixl is NIXL as a backend: it says what NIXL answered, in the words
// of package backend, and decides nothing.
//
// The promise: [backend.Done] is said only when NIXL answered success for the
// very handle that was posted, and never again after that handle answered with
// an error. Every other answer of NIXL is [backend.Error], because none of
// them proves an end; the one exception is a first post that NIXL refused
// before it looked at the transfer, which is [backend.NotSubmitted].
//
// What an operation in doubt can end by is not in this package's power: the
// target's word that it saw the operation end, or a fence ([Backend.Fence]).
//
// # Duties of the caller
//
//  1. Keep registered memory mapped as long as a peer may use metadata that
//     names it, also after Deregister.
//  2. Call Progress regularly while Limits.PassiveProgress is set.
//  3. Over TCP prefer WRITE: the end of a reader in the middle of a READ can
//     abort the process that is read from.
package nixl
