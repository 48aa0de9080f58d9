// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import "syscall"

// private gives a socket that has no name yet the mode that its name will have.
func private(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) }
