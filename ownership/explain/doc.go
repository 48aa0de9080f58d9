// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package explain says in words why memory is still owned: which accessor holds
// it, since when, which event led there, and what proof would free it.
//
// [Of] turns an [ownership.Snapshot] into a [Report], a document with a stable
// shape for JSON; [Report.WriteText] prints it for people, [Read] takes it back.
// The package decides nothing: its words follow the tables of contract §2 to §7.
//
// # The document
//
// A report has a schema number. Within one number fields are only added, none
// changes its meaning; a reader ignores fields that it does not know. States,
// events, outcomes and causes are the contract's names. Times end in _ns and
// are nanoseconds; since_ns and its like count from when the endpoint was made,
// as elapsed_ns does, and age_ns is the difference of the two. Each thing has a
// text of one line that needs no other field to be understood.
//
// # Concurrency
//
// A report is plain data. Nothing here is locked and nothing is kept.
package explain
