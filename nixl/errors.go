// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// Code is a return code of NIXL's C interface. CodeBackend folds eleven causes
// into one, among them "peer is gone", "still running" and "not posted", so no
// negative code says anything about who still touches the memory.
type Code = nixlc.Code

// NIXL's codes. Versions before 1.5 answer CodeBackend for every failure.
const (
	CodeSuccess      = nixlc.CodeSuccess
	CodeInProgress   = nixlc.CodeInProgress
	CodeInvalidParam = nixlc.CodeInvalidParam
	CodeBackend      = nixlc.CodeBackend
	CodeInvalidState = nixlc.CodeInvalidState
	CodeException    = nixlc.CodeException
	CodeNoTelemetry  = nixlc.CodeNoTelemetry
	CodeNotFound     = nixlc.CodeNotFound
)

// NIXL's failures, one sentinel a code, matched by every [Error] of that code.
var (
	ErrInvalidParam = errors.New("nixl: invalid parameter")
	ErrBackend      = errors.New("nixl: backend error")
	ErrInvalidState = errors.New("nixl: invalid state")
	ErrException    = errors.New("nixl: exception in the library")
	ErrNoTelemetry  = errors.New("nixl: no telemetry")
	ErrNotFound     = errors.New("nixl: not found")
)

// The binding's own refusals: NIXL was not asked.
var (
	// ErrInFlight refuses to let go of what an operation may still touch.
	ErrInFlight = errors.New("nixl: operation may still be in flight")
	// ErrFailed is returned by a request that answered with an error before:
	// what became of it is not known, and it stays so.
	ErrFailed = errors.New("nixl: request failed before")
	// ErrNotPosted is the status of a request that was never posted.
	ErrNotPosted = errors.New("nixl: request was not posted")
	// ErrClosed is returned after Destroy, Release or Deregister.
	ErrClosed = errors.New("nixl: closed")
	// ErrUnknownPeer says that a peer's metadata is not loaded, or no longer.
	ErrUnknownPeer = errors.New("nixl: unknown peer")
	// ErrNotRegistered says that a range is not inside registered memory.
	ErrNotRegistered = errors.New("nixl: memory is not registered")
	// ErrUnsupported says that this version of NIXL has no such function.
	ErrUnsupported = errors.New("nixl: not in this version of NIXL")
	// ErrArgument says that an argument is wrong in itself.
	ErrArgument = errors.New("nixl: invalid argument")
)

var codeErrors = map[Code]error{
	CodeInvalidParam: ErrInvalidParam,
	CodeBackend:      ErrBackend,
	CodeInvalidState: ErrInvalidState,
	CodeException:    ErrException,
	CodeNoTelemetry:  ErrNoTelemetry,
	CodeNotFound:     ErrNotFound,
}

// Error is a failure that NIXL answered, in NIXL's own words.
type Error struct {
	Call    string // C function, without its prefix nixl_capi_
	Subject string // agent, peer or plugin that the call was about
	Code    Code
	// Cause is what the C++ core says behind CodeBackend; 0 where it could not
	// be read. It is for people: no cause proves anything either.
	Cause Cause
}

// Error names the call, what it was about, the code and the cause.
func (e *Error) Error() string {
	if e.Cause != 0 {
		return fmt.Sprintf("nixl: %s %q: %v (%d), cause %v (%d)",
			e.Call, e.Subject, e.Code, int32(e.Code), e.Cause, int32(e.Cause))
	}
	return fmt.Sprintf("nixl: %s %q: %v (%d)", e.Call, e.Subject, e.Code, int32(e.Code))
}

// Is matches the sentinel of the code.
func (e *Error) Is(target error) bool { return codeErrors[e.Code] == target }

// check turns a code into an error; only CodeSuccess is none.
func check(call, subject string, code Code) error {
	if code == CodeSuccess {
		return nil
	}
	return &Error{Call: call, Subject: subject, Code: code}
}

// MissingError says which symbol a call needs that the library lacks.
type MissingError struct {
	Symbol  string
	Path    string
	Version Version
}

// Error names the symbol, the file and its version.
func (e *MissingError) Error() string {
	return fmt.Sprintf("nixl: %s (version %v) has no symbol %s", e.Path, e.Version, e.Symbol)
}

// Is makes every MissingError match [ErrUnsupported].
func (e *MissingError) Is(target error) bool { return target == ErrUnsupported }

// needs is a MissingError when the library cannot serve the call.
func (l *Library) needs(call string) error {
	if symbol := l.api.Lacks(call); symbol != "" {
		return &MissingError{Symbol: symbol, Path: l.path, Version: l.version}
	}
	return nil
}
