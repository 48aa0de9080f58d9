// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsm

import "strconv"

// Kind is the kind of an error with which a system refuses a call, in the order in
// which they are judged (contract §11). It is an error itself: match with
// errors.Is(err, fsm.Closed). The zero value is no kind.
type Kind uint8

// The kinds.
const (
	_               Kind = iota
	InvalidArgument      // an argument out of range
	Stale                // evidence under a name that is not the current one
	Fatal                // the registry is FATAL: nothing new starts, nothing retires
	Closed               // nothing new is admitted any more
	Contradiction        // the call contradicts what is known; the owner is invalid from now on
	Misuse               // the caller's mistake (reject)
	Refused              // not yet: what is asked for would not be safe
	Capacity             // a bound is reached
)

var kindNames = [...]string{InvalidArgument: "invalid_argument", Stale: "stale", Fatal: "fatal", Closed: "closed",
	Contradiction: "conflict", Misuse: "reject", Refused: "refused", Capacity: "capacity"}

// String returns the word of the contract, such as "closed".
func (k Kind) String() string {
	if k.IsValid() {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// IsValid reports whether k is one of the kinds.
func (k Kind) IsValid() bool { return k >= InvalidArgument && k <= Capacity }

// Error makes a kind usable as a target of errors.Is.
func (k Kind) Error() string { return "fsm: " + k.String() }

// CallError says which call a system refused, and why. The generated code holds one
// static value a refusal: compare, match with errors.Is (a Kind) and errors.As, and
// never change one.
type CallError struct {
	System string // name of the system's spec, such as "receive"
	Action string // name of the action in the spec, such as "fail_send"
	Kind   Kind
	Reason string // the sentence of the spec
}

// Error names system, action, kind and reason.
func (e *CallError) Error() string {
	return "fsm: " + e.System + ": " + e.Action + ": " + e.Kind.String() + ": " + e.Reason
}

// Is reports whether target is the kind of e.
func (e *CallError) Is(target error) bool { return target == error(e.Kind) }
