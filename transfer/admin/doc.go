// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package admin lets an operator ask an endpoint why memory is still owned, lift a
// quarantine, and fence an accessor on his word.
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
//	GET  /fence     what a fence demands, as a Demand in JSON; the query has a Target's fields
//	POST /fence     fence an accessor, on the word of whoever asks; takes a FenceOrder
//	                and answers Fenced, both as JSON
//	POST /reopen    lift a quarantine, on the word of whoever asks; answers Reopened as JSON
//	GET  /          this list
//
// A snapshot takes time in proportion to what is owned; metrics are cheaper.
// An error is a JSON object with the fields error and, where an ownership rule
// or package fence refused, kind; its status is 409 then.
//
// # Safety
//
// Handler asks nobody who he is: whoever reaches it can read names of peers and
// sessions, can reopen, and can free memory by a statement that is not true. Put it
// behind what protects the program's other operator paths. A statement that does not
// cover what package fence demands, or that what is known contradicts, is refused; each
// fence is logged and on record (GET /explain), with the name that was given.
//
// # Concurrency
//
// Everything may be used from any goroutine.
package admin
