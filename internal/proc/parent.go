// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Parent is the child's side of the pipe. It takes the standard output for
// messages alone: whatever a C library prints there from now on goes to the
// standard error instead of between the lines.
func Parent() (*Lines, error) {
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("proc: standard output: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		_ = unix.Close(out)
		return nil, fmt.Errorf("proc: standard output to standard error: %w", err)
	}
	return NewLines(os.Stdin, os.NewFile(uintptr(out), "parent")), nil
}
