// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "fmt"

// Op is what a transfer does, seen from who posts it.
type Op uint8

// Operations.
const (
	_ Op = iota
	// Read copies the peer's memory into ours.
	Read
	// Write copies our memory into the peer's.
	Write
)

// String is READ or WRITE.
func (o Op) String() string {
	switch o {
	case Read:
		return "READ"
	case Write:
		return "WRITE"
	}
	return fmt.Sprintf("invalid op %d", uint8(o))
}

// Status is what is known of one request. Only StatusDone and
// StatusNotSubmitted say that nobody touches the memory through it.
type Status uint8

// Statuses. Zero is the status of a call that was refused.
const (
	_ Status = iota
	// StatusInProgress: posted and not ended. NIXL knows no timeout: while the
	// peer stands still it stays so for ever.
	StatusInProgress
	// StatusDone: all bytes are in place, and nobody touches them any more.
	StatusDone
	// StatusNotSubmitted: this post queued nothing.
	StatusNotSubmitted
	// StatusFailed: NIXL answered with an error. The transfer may have run, may
	// still run, or may never have started. It stays so.
	StatusFailed
)

var statusNames = map[Status]string{
	StatusInProgress: "in progress", StatusDone: "done",
	StatusNotSubmitted: "not submitted", StatusFailed: "failed",
}

// String is the status in words.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("invalid status %d", uint8(s))
}

// Observation is what was seen of one request at one moment.
type Observation struct {
	Status Status
	// Err is NIXL's answer for StatusNotSubmitted and StatusFailed, and the
	// reason when Status is zero.
	Err error
}
