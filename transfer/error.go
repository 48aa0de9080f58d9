// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// Errors that callers match with errors.Is. Refusals of the ownership rules
// come as *ownership.Error and match that package's sentinels.
var (
	// ErrConfig: a Config or a spec given to a call is not usable.
	ErrConfig = errors.New("invalid argument")
	// ErrHandshake: the stream ended, or said something else, before both
	// sides had said Hello.
	ErrHandshake = errors.New("handshake not completed")
	// ErrGone: the peer's incarnation was replaced by a newer one, or fenced.
	ErrGone = errors.New("incarnation is gone")
	// ErrNoPeer: no stream to a peer of that name is attached.
	ErrNoPeer = errors.New("peer is not attached")
	// ErrAnswered: the request was answered before, or withdrawn by the peer.
	ErrAnswered = errors.New("request needs no answer any more")
	// ErrHalted: the endpoint runs no more.
	ErrHalted = errors.New("endpoint is halted")
	// ErrUnacknowledged: everything is released, but a peer has not confirmed
	// that the last reports arrived.
	ErrUnacknowledged = errors.New("reports are not acknowledged")
	// ErrReincarnated: the endpoint's life has ended, or is about to, and another
	// one follows; see Reincarnate. For a stream: attach another one.
	ErrReincarnated = errors.New("endpoint has another life")
	// ErrReplaced: a newer stream of the same peer took over.
	ErrReplaced = errors.New("stream was replaced by a newer one")
	// ErrProtocol: the peer sent what no endpoint sends.
	ErrProtocol = errors.New("protocol violation")
)

// Error is an error of this package that is about one thing: an endpoint, a
// peer, a region, a spec's field.
type Error struct {
	What string // the thing, with its name
	Kind error  // one of the sentinels
	Err  error  // the cause, may be nil
}

// Error returns "transfer: thing: kind: cause".
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("transfer: %s: %v", e.What, e.Kind)
	}
	return fmt.Sprintf("transfer: %s: %v: %v", e.What, e.Kind, e.Err)
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

func invalid(what, format string, args ...any) error {
	return &Error{What: what, Kind: ErrConfig, Err: fmt.Errorf(format, args...)}
}

// OutcomeError is what Session.Wait returns for a session that did not succeed.
type OutcomeError struct {
	Session ownership.SessionName
	Answer
}

// Error returns the session and its answer in one line.
func (e *OutcomeError) Error() string {
	return fmt.Sprintf("transfer: session %v: %v", e.Session, e.Answer)
}

// Answer is the logical answer of a session: whether the data was delivered.
// It says nothing about the memory.
type Answer struct {
	Outcome outcome.State
	Cause   ownership.Cause  // empty for ACTIVE and SUCCEEDED
	Origin  ownership.Origin // NoOrigin for ACTIVE and SUCCEEDED
}

// String returns the answer, such as "CANCELLED, cause cancel, origin local".
func (a Answer) String() string {
	if a.Cause == "" {
		return a.Outcome.String()
	}
	return fmt.Sprintf("%v, cause %v, origin %v", a.Outcome, a.Cause, a.Origin)
}
