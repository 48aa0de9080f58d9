// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"fmt"
)

// Errors of Process.Gone.
var (
	// ErrAlive: the process runs, or cannot be told from one that does.
	ErrAlive = errors.New("the process has not ended")
	// ErrElsewhere: the process is not one that can be looked for here.
	ErrElsewhere = errors.New("the process is not of this host and its process numbers")
)

// Process names one process for good, though its number may be used again: by when
// it started, and by the boot and the process namespace in which its number means
// something. Find takes it; it may travel to somebody else of the same host.
type Process struct {
	PID       int
	Started   uint64 // clock ticks since the boot
	Boot      string
	Namespace string
}

// String names the process in one line.
func (p Process) String() string {
	return fmt.Sprintf("process %d (started at tick %d)", p.PID, p.Started)
}
