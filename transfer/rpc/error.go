// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"errors"
	"fmt"
	"strings"
)

// What an *AddressError or a *PeerError can be matched with by errors.Is.
var (
	// ErrInvalidAddress: the address cannot be read.
	ErrInvalidAddress = errors.New("invalid address")
	// ErrNotLocal: the address would leave this machine, and no Identity is given.
	ErrNotLocal = errors.New("address is not local")
	// ErrAddressInUse: somebody listens there, or left a socket file behind.
	ErrAddressInUse = errors.New("address in use")
	// ErrUnreachable: nobody listens there.
	ErrUnreachable = errors.New("nobody listens")
	// ErrNotPeer: what answers is not a kvxfer endpoint.
	ErrNotPeer = errors.New("not a kvxfer peer")
	// ErrForeignUser: the peer on a Unix socket is another user's process.
	ErrForeignUser = errors.New("peer is another user's process")
	// ErrUntrusted: the peer's certificate is not to be trusted, or the peer does
	// not trust ours.
	ErrUntrusted = errors.New("no trust")
	// ErrName: the peer says, or its certificate has, another name than it must.
	ErrName = errors.New("wrong name")
	// ErrLimit is matched by every *LimitError.
	ErrLimit = errors.New("limit exceeded")
	// ErrClosed: the listener or stream was closed by this side.
	ErrClosed = errors.New("rpc: closed")
)

// AddressError says what is wrong with an address and why.
type AddressError struct {
	Addr   string
	Kind   error  // one of the sentinels of this package
	Reason string // may be empty
	Err    error  // the system's own, may be nil
}

// Error returns "rpc: address: kind: reason".
func (e *AddressError) Error() string { return text(e.Addr, e.Kind, e.Reason, e.Err) }

// Unwrap returns the kind and the system's error.
func (e *AddressError) Unwrap() []error { return nonNil(e.Kind, e.Err) }

// PeerError says what is wrong with whoever answers at an address.
type PeerError struct {
	Addr   string
	Kind   error // ErrNotPeer, ErrForeignUser, ErrUntrusted, ErrName, ErrLimit or transfer.ErrHandshake
	Reason string
	Err    error // the carrier's own, may be nil
}

// Error returns "rpc: address: kind: reason".
func (e *PeerError) Error() string { return text(e.Addr, e.Kind, e.Reason, e.Err) }

// Unwrap returns the kind and the carrier's error.
func (e *PeerError) Unwrap() []error { return nonNil(e.Kind, e.Err) }

func text(addr string, kind error, reason string, err error) string {
	s := fmt.Sprintf("rpc: %q: %v", addr, kind)
	if err != nil && strings.HasPrefix(err.Error(), kind.Error()) {
		return fmt.Sprintf("rpc: %q: %v", addr, err)
	}
	if reason != "" {
		s += ": " + reason
	}
	if err != nil {
		s += ": " + err.Error()
	}
	return s
}

func nonNil(errs ...error) []error {
	var out []error
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}
