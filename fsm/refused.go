// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsm

import "errors"

// Sentinels for errors.Is. ErrRefused is matched by every refusal, the other
// two by the kind of refusal that they name.
var (
	ErrRefused  = errors.New("fsm: event refused")
	ErrRejected = errors.New("fsm: event rejected")
	ErrConflict = errors.New("fsm: event in conflict")
)

// RefusedError says which event a machine refused in which state, and why. The
// generated code holds one static value a cell: compare, match with errors.Is
// and errors.As, and never change one.
type RefusedError struct {
	Machine string // name of the machine's spec, such as "claim"
	State   string // name of the state in the spec, such as "IN_DOUBT"; "" if out of range
	Event   string // name of the event in the spec, such as "done_ok"; "" if out of range
	Result  Result // Rejected or Conflict
	Reason  string // the sentence of the spec; "" where it gives none
}

// Error names machine, event, state, the kind of refusal and the reason.
func (e *RefusedError) Error() string {
	if e.State == "" || e.Event == "" {
		return "fsm: " + e.Machine + ": unknown state or event " + e.Result.String()
	}
	s := "fsm: " + e.Machine + ": event " + e.Event + " in state " + e.State + ": " + e.Result.String()
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Is reports whether target is ErrRefused or the sentinel of e's result.
func (e *RefusedError) Is(target error) bool {
	switch target {
	case ErrRefused:
		return true
	case ErrRejected:
		return e.Result == Rejected
	case ErrConflict:
		return e.Result == Conflict
	}
	return false
}
