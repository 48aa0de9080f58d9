// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cgo || !linux

package health

import (
	"context"
	"errors"
	"time"
)

// DefaultInterval is how often Watch reads the counters.
const DefaultInterval = 5 * time.Second

// Options say where NVML is, and how often to look.
type Options struct {
	_        struct{}
	Library  string
	Interval time.Duration
}

// Monitor watches the devices of a machine; this build can never have one.
type Monitor struct{}

// Open always fails in this build.
func Open(Options) (*Monitor, error) {
	return nil, &UnavailableError{Library: LibraryName, Err: errors.New("built without cgo, or not for linux"), Advice: adviceCgo}
}

// Devices is empty in this build.
func (*Monitor) Devices() []Device { return nil }

// Driver is empty in this build.
func (*Monitor) Driver() string { return "" }

// Check finds nothing in this build.
func (*Monitor) Check() []*Fact { return nil }

// Watch fails in this build.
func (*Monitor) Watch(context.Context, func(*Fact)) error { return ErrUnavailable }

// Processes fails in this build.
func (*Monitor) Processes() ([]Process, error) { return nil, ErrUnavailable }

// Topology fails in this build.
func (*Monitor) Topology() (Topology, error) { return Topology{}, ErrUnavailable }

// Close does nothing in this build.
func (*Monitor) Close() error { return nil }
