// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"syscall"
	"time"
)

// nap sleeps as short as the kernel can; a signal may end it early.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
