// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"syscall"
	"time"
	"unsafe"
)

// threadCPU is how long the calling thread has been run, to the nanosecond.
func threadCPU() time.Duration {
	const clockThreadCPU = 3
	var at syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&at)), 0)
	return time.Duration(at.Nano())
}
