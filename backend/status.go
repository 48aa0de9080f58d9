// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "strconv"

// Status is a backend's answer about one operation. The numbers are those of
// the same names in spec/operation.yaml; the gaps are statuses that only the
// runtime or a peer can state (submitting, overdue, confirmed).
type Status uint8

const (
	_ Status = iota
	_        // submitting: the runtime's question
	// Submitted: accepted, may be running.
	Submitted
	// NotSubmitted: proof that this operation never started and never will.
	NotSubmitted
	// InProgress: posted and not ended. No proof of anything.
	InProgress
	// Done: this very operation ended; nobody touches the memory through it.
	Done
	// Error: ambiguous. It may have run, may still run, or never ran.
	Error
	_ // overdue: the runtime's own wait ran out
	_ // confirmed: the target's statement
	// NotFound: the backend does not know this operation.
	NotFound
	// Replaced: the handle now stands for another operation.
	Replaced
	// Lost: the backend lost the operation (an agent restarted under it).
	Lost
)

var statusNames = map[Status]string{
	Submitted: "submitted", NotSubmitted: "not_submitted", InProgress: "in_progress",
	Done: "done", Error: "error", NotFound: "not_found", Replaced: "replaced", Lost: "lost",
}

// String returns the name that spec/operation.yaml gives the status.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return "invalid status " + strconv.Itoa(int(s))
}

// IsValid reports whether a backend may give s as an answer.
func (s Status) IsValid() bool { _, ok := statusNames[s]; return ok }
