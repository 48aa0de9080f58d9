// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package admin lets an operator ask an endpoint why memory is still owned, and
// lift a quarantine.
//
// [Handler] is an http.Handler for a server that a program has anyway; [Serve]
// serves it on a Unix socket that only the same user can open; [Client] talks
// to such a socket. It is a package of its own so that linking transfer does
// not link an HTTP server.
//
// # The paths
//
//	GET  /snapshot  a report of package ownership/explain, as JSON
//	GET  /explain   the same as text, for people
//	GET  /metrics   the numbers of Endpoint.Metrics, in the Prometheus text format
//	POST /reopen    lift a quarantine, on the word of whoever asks; answers Reopened as JSON
//	GET  /          this list
//
// A snapshot takes time in proportion to what is owned; metrics are cheaper.
// An error is a JSON object with the fields error and, where an ownership rule
// refused, kind; its status is 409 then.
//
// # Safety
//
// Handler asks nobody who he is: whoever reaches it can read names of peers and
// sessions, and can reopen. Put it behind what protects the program's other
// operator paths. Nothing here can free memory, cancel a session or fence a peer.
//
// # Concurrency
//
// Everything may be used from any goroutine.
package admin
