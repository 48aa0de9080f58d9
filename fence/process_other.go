// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package fence

import (
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
)

// Find needs Linux; the error matches backend.ErrUnavailable.
func Find(pid int) (Process, error) {
	return Process{}, fmt.Errorf("fence: process %d: %w", pid, backend.ErrUnavailable)
}

// Gone needs Linux; the error matches backend.ErrUnavailable.
func (p Process) Gone() (Exited, error) {
	return Exited{}, fmt.Errorf("fence: %v: %w", p, backend.ErrUnavailable)
}
