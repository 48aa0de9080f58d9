// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package bench holds benchmarks alone: generated machines beside a hand-written
// nested switch and beside github.com/looplab/fsm, on the claim.
//
//	go test -run '^$' -bench . -benchmem -count 8 ./fsm/bench
//
// Rows under 3 ns move by half a nanosecond with the layout of the code: repeat,
// and compare rows of one run alone.
package bench
