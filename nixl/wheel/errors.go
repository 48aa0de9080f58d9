// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"errors"
	"fmt"
)

// Why a fetch failed, for errors.Is.
var (
	// ErrNoPython: there is no python3 to ask.
	ErrNoPython = errors.New("wheel: python3 not found; install it, or NIXL, or set KVXFER_NIXL_LIB")
	// ErrNoPip: python3 has no pip.
	ErrNoPip = errors.New("wheel: python3 has no pip; install python3-pip")
	// ErrNetwork: the package index could not be reached.
	ErrNetwork = errors.New("wheel: package index not reachable")
	// ErrHash: a wheel is not the one that the lock names.
	ErrHash = errors.New("wheel: hash differs from the lock")
	// ErrCorrupt: a wheel cannot be unpacked.
	ErrCorrupt = errors.New("wheel: damaged archive")
	// ErrPlatform: no wheel exists for this system and processor.
	ErrPlatform = errors.New("wheel: no wheel for this platform")
	// ErrPip: pip failed for another reason.
	ErrPip = errors.New("wheel: pip failed")
)

// PipError is a failed pip, in pip's own words.
type PipError struct {
	Kind error // one of this package's sentinels
	Text string
}

// Error is the kind and pip's last word.
func (e *PipError) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Text) }

// Unwrap gives the kind.
func (e *PipError) Unwrap() error { return e.Kind }
