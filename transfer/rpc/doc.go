// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package rpc carries the control stream between two endpoints over gRPC: one
// bidirectional call for each pair of endpoints.
//
// The promise: a *[Stream] is a transfer.Stream whose peer is known as well as
// its address allows. With an [Identity] the stream is mutual TLS 1.3, and the
// peer's Hello has a name that its certificate has, or the stream ends before
// the Hello is seen (contract section 8). Without one the peer runs on this
// machine, and, on a Unix socket, as the same user. Every message that Recv
// returns has passed its validation.
//
// # What the caller does
//
//  1. Give [Listen] and [Dial] a local address: "127.0.0.1:0", "[::1]:9000",
//     "unix:/path" or "unix-abstract:name". For any other, or to have TLS here
//     too, use [Config] with an Identity; without, it is refused with
//     [ErrNotLocal].
//  2. On one machine prefer a Unix socket. On TCP without TLS every user of the
//     machine can connect, and the name in the peer's Hello is all that is known
//     of it.
//  3. Pass each stream to transfer.Endpoint.Attach, which says Hello, checks
//     the version and closes the stream in the end.
//  4. Dial again when a stream was lost, or let [Config.Keep] do it: the
//     endpoints resume by themselves, in order, with nothing lost or doubled. A
//     lost stream is doubt about no memory.
//
// # Limits
//
// [Limits] bound the size of a message, how fast a peer's messages are read,
// and how many streams one name may have; [Counters] count what was refused.
// A peer that says nothing for 20 seconds is asked for a sign of life, and the
// stream is given up after 20 more. That is no event for any claim.
package rpc
