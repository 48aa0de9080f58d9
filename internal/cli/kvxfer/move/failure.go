// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"errors"
	"io/fs"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
)

// Failure is an error that crossed the pipe: its text, and its kind so that
// the exit code survives.
type Failure struct {
	Kind FailureKind `json:"kind"`
	Text string      `json:"text"`
}

// FailureKind says whose fault an error is.
type FailureKind string

// Kinds of failures.
const (
	KindEnvironment FailureKind = "environment" // this machine lacks something
	KindPeer        FailureKind = "peer"        // the other side, or the protocol
)

// Error is the text.
func (f *Failure) Error() string { return f.Text }

// failureOf prepares an error for the pipe.
func failureOf(err error) *Failure {
	f := &Failure{Kind: KindPeer, Text: err.Error()}
	if IsEnvironment(err) {
		f.Kind = KindEnvironment
	}
	return f
}

// IsEnvironment reports whether an error, of this process or of the second
// one, says that the machine lacks something.
func IsEnvironment(err error) bool {
	var f *Failure
	if errors.As(err, &f) {
		return f.Kind == KindEnvironment
	}
	var unmapped *memory.MapError
	var file *fs.PathError
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, nixl.ErrNoLibrary) || errors.As(err, &unmapped) || errors.As(err, &file)
}
