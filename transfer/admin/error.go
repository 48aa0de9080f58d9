// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that callers match with errors.Is.
var (
	// ErrAddress: the address is not unix:PATH, or PATH cannot be a socket.
	ErrAddress = errors.New("not a usable address")
	// ErrInUse: a process listens there, or a file that is no socket is there.
	ErrInUse = errors.New("address in use")
	// ErrUnreachable: nobody answers there.
	ErrUnreachable = errors.New("cannot connect")
	// ErrRefused: the endpoint answered that it will not.
	ErrRefused = errors.New("refused")
	// ErrAnswer: what answered is no admin handler of this version.
	ErrAnswer = errors.New("unexpected answer")
)

// Error is an error about one address.
type Error struct {
	Addr string
	Kind error  // one of the sentinels
	Why  string // may be empty
	Err  error  // the cause, may be nil
}

// Error returns "admin: address: kind: why: cause" in one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("admin: %s: %v", e.Addr, e.Kind)
	if e.Why != "" {
		s += ": " + e.Why
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// maxPath is what the address of a Unix socket holds on Linux, less the final zero.
const maxPath = 107

// socketPath takes the path out of an address.
func socketPath(addr string) (string, error) {
	path, ok := strings.CutPrefix(addr, "unix:")
	bad := func(why string) (string, error) { return "", &Error{Addr: addr, Kind: ErrAddress, Why: why} }
	switch {
	case !ok:
		return bad(`want "unix:PATH"; only a file's mode says who may connect`)
	case path == "" || strings.HasPrefix(path, "@"):
		return bad("the socket has no path")
	case strings.ContainsRune(path, 0):
		return bad("the path has a zero byte")
	case len(path) > maxPath:
		return bad(fmt.Sprintf("the path has %d bytes, limit %d", len(path), maxPath))
	}
	return path, nil
}
