// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package codegen_test

// underRace: what runs on one goroutine, or in other programs, and takes long is left to
// the run without the race detector, which would only slow it (make explore).
const underRace = true
