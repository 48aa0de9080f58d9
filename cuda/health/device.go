// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"fmt"
)

// ErrUnavailable is matched by every failure of Open.
var ErrUnavailable = errors.New("health: NVML is not available on this machine")

// UnavailableError says why NVML cannot be used here, and what to do.
type UnavailableError struct {
	Library string
	Err     error // the loader's or NVML's words
	Advice  string
}

// Error names the library, the reason and the advice.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("health: %s: %v; %s", e.Library, e.Err, e.Advice)
}

// Unwrap returns the reason.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Is makes every UnavailableError match [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// LibraryName is NVML's file name; the loader knows where it lies.
const LibraryName = "libnvidia-ml.so.1"

const (
	adviceInstall = "install the NVIDIA driver; in a container, start it with the NVIDIA runtime (--gpus all) and the capability utility"
	adviceCgo     = "build with CGO_ENABLED=1 on Linux"
)

// Device is what NVML says of a GPU that does not change.
type Device struct {
	Index  int
	Name   string
	UUID   string
	PCI    string
	Memory uint64 // bytes
	// Missing lists what this device or driver cannot tell, and therefore is not
	// watched: "xid events", "ecc", "row remap", "clocks", "nvlink".
	Missing []string
}

// Process is a program that has memory of a device.
type Process struct {
	Index  int // of the device
	PID    uint32
	Memory uint64 // bytes
}

// Link is how two devices reach each other.
type Link struct {
	From, To int    // indices
	Level    string // what lies between them: "board", "switch", "switches", "host bridge", "node", "system"
	NVLink   bool   // over NVLink
	Read     bool   // peer reads are possible
	Write    bool   // peer writes are possible
}

// Topology is how the devices of a machine are joined.
type Topology struct {
	// NVLinks counts the active NVLinks of each device, by index.
	NVLinks []int
	// Links has an entry for each ordered pair of devices.
	Links []Link
}
