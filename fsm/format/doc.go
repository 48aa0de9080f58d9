// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package format gives specs one layout.
//
// The promise: the result says the same as the source and keeps every comment, or
// the source is left alone with an error; formatting twice changes nothing more.
//
// Keys stand in the order of the language, rows and cells in that of states and
// events. What was written on one line stays on one where it fits into 100
// columns. Long texts are folded. Single blank lines stay.
package format
