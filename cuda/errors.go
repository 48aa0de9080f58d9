// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/dl"
)

// Errors that callers match with errors.Is. None but those of [Error] come
// from the driver: it was not asked.
var (
	// ErrUnavailable is matched by every failure of Open: no library, too old a
	// driver, no device.
	ErrUnavailable = errors.New("cuda: not available on this machine")
	// ErrInFlight refuses to let go of what work may still touch.
	ErrInFlight = errors.New("cuda: work may still be in flight")
	// ErrInDoubt says that the driver gave an error after which nobody knows
	// what the device still does. It stays so for the life of the process.
	ErrInDoubt = errors.New("cuda: context is in doubt")
	// ErrNotRecorded is the answer about an event that stands behind nothing.
	ErrNotRecorded = errors.New("cuda: event was never recorded")
	// ErrWrongContext refuses an event, stream or memory of another context.
	ErrWrongContext = errors.New("cuda: of another context")
	// ErrArgument says that an argument is wrong in itself.
	ErrArgument = errors.New("cuda: invalid argument")
	// ErrClosed is returned after Close or Free.
	ErrClosed = errors.New("cuda: closed")
)

// Error is a failure that the driver answered, in the driver's own words.
type Error struct {
	Call   string // the C function, as CUDA's documentation has it
	Result Result
	Name   string // of cuGetErrorName
	Text   string // of cuGetErrorString
	Log    string // what the compiler said of a module; empty otherwise
}

// Error names the call, the code and the driver's words.
func (e *Error) Error() string {
	text := fmt.Sprintf("cuda: %s: %s (%d)", e.Call, e.Name, int(e.Result))
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Log != "" {
		text += ": " + e.Log
	}
	return text
}

// Unwrap is the code, which is an error itself.
func (e *Error) Unwrap() error { return e.Result }

// UnavailableError says why CUDA cannot be used here, and what to do.
type UnavailableError struct {
	Library string // what was opened
	Err     error  // the loader's or the driver's words
	Advice  string
}

// Error names the library, the reason and the advice.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("cuda: %s: %v; %s", e.Library, e.Err, e.Advice)
}

// Unwrap returns the reason.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Is makes every UnavailableError match [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// VersionError refuses a driver that is too old.
type VersionError struct{ Version, Least Version }

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("cuda: driver is for CUDA %v, at least %v is needed", e.Version, e.Least)
}

const (
	adviceInstall = "install the NVIDIA driver 525 or later (no CUDA toolkit is needed); in a container, start it with the NVIDIA runtime (--gpus all)"
	adviceUpdate  = "update the NVIDIA driver to 525 or later"
	adviceDevice  = "no GPU is visible: check nvidia-smi, CUDA_VISIBLE_DEVICES and, in a container, --gpus"
	adviceStart   = "check nvidia-smi; a driver that was just updated needs a reboot"
	adviceCgo     = "build with CGO_ENABLED=1 on Linux"
)

// adviceFor says what helps against a failure to start.
func adviceFor(err error) string {
	switch {
	case !dl.Supported:
		return adviceCgo
	case errors.Is(err, dl.ErrNoLibrary):
		return adviceInstall
	case errors.Is(err, dl.ErrNoSymbol):
		return adviceUpdate
	case errors.Is(err, ErrorNoDevice):
		return adviceDevice
	case errors.Is(err, ErrorStubLibrary):
		return "this is the toolkit's stub of the driver: " + adviceInstall
	}
	if v := (*VersionError)(nil); errors.As(err, &v) {
		return adviceUpdate
	}
	return adviceStart
}
