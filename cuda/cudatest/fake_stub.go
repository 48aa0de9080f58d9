// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cgo || !linux

package cudatest

import (
	"testing"

	"github.com/kvxfer/kvxfer/cuda"
)

// Mode says when a fake does the work of its streams.
type Mode int

// Modes.
const (
	AtOnce Mode = iota
	BySteps
	ByThread
)

// Fake is one driver; this build can never have one.
type Fake struct{}

// New skips the test in this build.
func New(t testing.TB, _ ...string) *Fake {
	t.Helper()
	t.Skip("the fake driver needs cgo and Linux")
	return nil
}

// Path is empty in this build.
func (*Fake) Path() string { return "" }

// Fail does nothing in this build.
func (*Fake) Fail(string, int, int, int) {}

// Pause does nothing in this build.
func (*Fake) Pause(string) {}

// Resume does nothing in this build.
func (*Fake) Resume() {}

// Devices does nothing in this build.
func (*Fake) Devices(int) {}

// Capacity does nothing in this build.
func (*Fake) Capacity(int) {}

// OtherAddress does nothing in this build.
func (*Fake) OtherAddress() {}

// SetMode does nothing in this build.
func (*Fake) SetMode(Mode) {}

// Step does nothing in this build.
func (*Fake) Step(int) int { return 0 }

// Stick does nothing in this build.
func (*Fake) Stick(int, int) {}

// InUse is 0 in this build.
func (*Fake) InUse() int { return 0 }

// Calls is empty in this build.
func (*Fake) Calls() []string { return nil }

// Host is empty in this build.
func (*Fake) Host(*cuda.Memory) []byte { return nil }
