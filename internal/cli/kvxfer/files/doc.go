// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package files moves files between endpoints, for the commands serve, send and
// recv. A file goes in chunks, each of which is a transfer of its own with its
// own owners on both sides; all that the two sides tell each other are transfers
// as well, see Message.
//
// The side that gets a file drives: it asks for the chunks that it does not
// have, writes what has the right checksum, and keeps a journal beside the
// unfinished file, so that it goes on where it was when either side starts again.
//
// A [Node] is an endpoint over its lives. When a peer dies in the middle, proof
// that it lets go of memory may never come: then the node ends its own backend
// under whatever is in flight, which on some transports is such proof, and comes
// up in a new life. Where it is none, the memory stays owned and the node ends.
package files
