// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package wheel fetches the NIXL library for users who have none: it asks the
// user's own pip for one pinned wheel and unpacks it into a folder.
//
// The promise: after [Fetch] returns without an error the folder holds exactly
// the files of a wheel whose SHA-256 is in the lock, and a folder that is
// there at all is complete: it is unpacked beside its place and renamed. Pip
// checks the hash while it downloads; this package checks it again before it
// unpacks, so that a pip that was told otherwise changes nothing.
//
// Nothing is installed and no Python package is imported; [Lock] is the list of
// what may be fetched. Fetch may run in several processes at once: the first
// rename wins.
package wheel
