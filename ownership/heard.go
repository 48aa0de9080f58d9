// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// heard is when each claim of a piece entered its state, and by which event. For
// every 16 claims it has a word of their events, four bits each, and then their
// times: half of what a struct a claim would take.
type heard []uint64

const (
	heardGroup = 16
	heardBits  = 4
)

// newHeard is of n claims that are new at that time.
func newHeard(n int, at time.Duration) heard {
	h := make(heard, n+(n+heardGroup-1)/heardGroup)
	for i := range n {
		h[timeOf(i)] = uint64(at)
	}
	return h
}

// since returns when claim i entered its state.
func (h heard) since(i int) time.Duration { return time.Duration(h[timeOf(i)]) }

// by returns the event that led to the state of claim i, 0 for the first one.
func (h heard) by(i int) claim.Event {
	word, shift := eventOf(i)
	return claim.Event(h[word] >> shift & (1<<heardBits - 1))
}

func (h heard) set(i int, at time.Duration, by claim.Event) {
	h[timeOf(i)] = uint64(at)
	word, shift := eventOf(i)
	h[word] = h[word]&^((1<<heardBits-1)<<shift) | uint64(by)<<shift
}

// timeOf and eventOf say where a claim's are. Unsigned, a division is a shift.

func timeOf(i int) uint { return uint(i) + uint(i)/heardGroup + 1 }

func eventOf(i int) (word, shift uint) {
	return uint(i) / heardGroup * (heardGroup + 1), uint(i) % heardGroup * heardBits
}
