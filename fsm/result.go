// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsm

import "strconv"

// Result says what offering one event to a machine did. The zero value is not a
// result; contract §2 defines the five kinds.
type Result uint8

const (
	_ Result = iota
	// Moved: the machine is in another state now.
	Moved
	// Duplicate: it was already so; idempotent, to be counted.
	Duplicate
	// Ignored: the event carries no proof here; nothing changed, to be counted.
	Ignored
	// Rejected: the caller's mistake; an error, nothing changed.
	Rejected
	// Conflict: contradictory or unauthorised evidence; an error, the machine did
	// not move, and its owner is invalid from now on.
	Conflict
)

var resultNames = [...]string{Moved: "moved", Duplicate: "duplicate", Ignored: "ignored", Rejected: "rejected", Conflict: "conflict"}

// String returns the word of the contract, such as "moved".
func (r Result) String() string {
	if r.IsValid() {
		return resultNames[r]
	}
	return "Result(" + strconv.Itoa(int(r)) + ")"
}

// IsValid reports whether r is one of the five results.
func (r Result) IsValid() bool { return r >= Moved && r <= Conflict }

// Refused reports whether r is an error: Rejected, Conflict, or no result at all.
func (r Result) Refused() bool { return r-Moved >= Rejected-Moved }
