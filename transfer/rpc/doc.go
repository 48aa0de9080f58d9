// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package rpc carries the control stream between two endpoints over gRPC: one
// bidirectional call for each pair of endpoints.
//
// The promise: a *[Stream] is a transfer.Stream whose peer runs on this
// machine, and, on a Unix socket, as the same user. Every message that Recv
// returns has passed its validation.
//
// # What the caller does
//
//  1. Give [Listen] and [Dial] a local address: "127.0.0.1:0", "[::1]:9000",
//     "unix:/path" or "unix-abstract:name". There is no TLS yet, so anything
//     else is refused with [ErrNotLocal].
//  2. Prefer a Unix socket. On TCP every user of the machine can connect, and
//     the name in the peer's Hello is all that is known of it.
//  3. Pass each stream to transfer.Endpoint.Attach, which says Hello, checks
//     the version and closes the stream in the end.
//  4. Dial again when a stream was lost: the endpoints resume by themselves,
//     this package never reconnects.
package rpc
