// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"fmt"
	"sync"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// LibraryName is the driver's file name; the loader knows where it lies.
const LibraryName = "libcuda.so.1"

// Version is a version of CUDA.
type Version struct{ Major, Minor int }

// String returns "major.minor".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Less reports whether v is older than o.
func (v Version) Less(o Version) bool {
	return v.Major < o.Major || v.Major == o.Major && v.Minor < o.Minor
}

// MinVersion is the oldest driver that is accepted: the first that compiles the
// PTX of package gather.
var MinVersion = Version{12, 0}

// Options say where to look for the driver. The zero value is right on all but
// odd machines.
type Options struct {
	_ struct{}
	// Library is a path instead of [LibraryName].
	Library string
}

// Driver is the CUDA driver, opened and initialised. It stays open for the
// life of the process: CUDA's threads may still run when the last context is gone.
type Driver struct {
	api     cudac.API
	library string
	version Version
	devices []*Device
}

// opened keeps one Driver for each library, because a device has one primary
// context in a process, and its doubt must be known to all.
var opened struct {
	sync.Mutex
	byPath map[string]*Driver
}

// Open opens the driver and lists its devices. Opening again returns the same
// Driver. The error is an *[UnavailableError], which matches [ErrUnavailable]
// and says what to do.
func Open(o Options) (*Driver, error) {
	path := o.Library
	if path == "" {
		path = LibraryName
	}
	opened.Lock()
	defer opened.Unlock()
	if d := opened.byPath[path]; d != nil {
		return d, nil
	}
	d, err := open(path)
	if err != nil {
		return nil, &UnavailableError{Library: path, Err: err, Advice: adviceFor(err)}
	}
	if opened.byPath == nil {
		opened.byPath = map[string]*Driver{}
	}
	opened.byPath[path] = d
	return d, nil
}

func open(path string) (*Driver, error) {
	api, err := cudac.Load(path)
	if err != nil {
		return nil, err
	}
	d := &Driver{api: api, library: path, version: Version{api.Version() / 1000, api.Version() % 1000 / 10}}
	if d.version.Less(MinVersion) {
		return nil, &VersionError{Version: d.version, Least: MinVersion}
	}
	if err := d.check("cuInit", api.Init()); err != nil {
		return nil, err
	}
	n, rc := api.DeviceCount()
	if err := d.check("cuDeviceGetCount", rc); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, d.check("cuDeviceGetCount", cudac.Result(ErrorNoDevice))
	}
	for i := range n {
		device, err := d.device(i)
		if err != nil {
			return nil, err
		}
		d.devices = append(d.devices, device)
	}
	return d, nil
}

// Version is the newest CUDA that the driver knows.
func (d *Driver) Version() Version { return d.version }

// Path is the file that the driver was loaded from, as the loader knows it.
func (d *Driver) Path() string {
	if p := d.api.Origin(); p != "" {
		return p
	}
	return d.library
}

// Devices lists the devices in the driver's order.
func (d *Driver) Devices() []*Device { return append([]*Device(nil), d.devices...) }

// HasBatch reports whether the driver copies a batch in one call; where it does
// not, [Stream.CopyBatch] makes one call a copy.
func (d *Driver) HasBatch() bool {
	return d.api.Has("cuMemcpyBatchAsync_v2") || d.api.Has("cuMemcpyBatchAsync")
}

// check turns a result into an error in the driver's words; only success is none.
func (d *Driver) check(call string, r cudac.Result) error {
	if r == cudac.Success {
		return nil
	}
	return d.newError(call, r)
}

func (d *Driver) newError(call string, r cudac.Result) *Error {
	e := &Error{Call: call, Result: Result(r), Name: d.api.ErrorName(r), Text: d.api.ErrorText(r)}
	if e.Name == "" {
		e.Name = Result(r).String()
	}
	return e
}
