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
	for i := range h {
		if i%(heardGroup+1) > 0 { // the words of the events stay 0
			h[i] = uint64(at)
		}
	}
	return h
}

// since returns when claim i entered its state.
func (h heard) since(i int) time.Duration { return time.Duration(h[i/heardGroup+1+i]) }

// by returns the event that led to the state of claim i, 0 for the first one.
func (h heard) by(i int) claim.Event {
	return claim.Event(h[i/heardGroup*(heardGroup+1)] >> (i % heardGroup * heardBits) & (1<<heardBits - 1))
}

func (h heard) set(i int, at time.Duration, by claim.Event) {
	h[i/heardGroup+1+i] = uint64(at)
	events, shift := &h[i/heardGroup*(heardGroup+1)], i%heardGroup*heardBits
	*events = *events&^((1<<heardBits-1)<<shift) | uint64(by)<<shift
}
