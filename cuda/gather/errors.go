// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
)

// Errors that callers match with errors.Is, beside those of package backend.
var (
	// ErrFull says that all slots of an engine or a bounce arena are taken.
	ErrFull = errors.New("gather: no slot is free")
	// ErrReturned is the answer to whoever uses a lease after its return.
	ErrReturned = errors.New("gather: lease was returned before")
)

// ExtentError says which extent of a copy is wrong, and why. It matches
// [backend.ErrInvalid].
type ExtentError struct {
	What  string // "buffer", "block", "writer 2 block"
	Index int    // of the block; 0 for a buffer
	Why   string
}

// Error names the extent and what is wrong with it.
func (e *ExtentError) Error() string {
	if e.What == "buffer" {
		return "gather: buffer " + e.Why
	}
	return fmt.Sprintf("gather: %s %d %s", e.What, e.Index, e.Why)
}

// Unwrap is [backend.ErrInvalid].
func (e *ExtentError) Unwrap() error { return backend.ErrInvalid }
