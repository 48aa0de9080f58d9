// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package memory

import "syscall"

// mapGuarded maps n bytes that nobody may touch yet.
func mapGuarded(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func makeUsable(b []byte) error {
	return syscall.Mprotect(b, syscall.PROT_READ|syscall.PROT_WRITE)
}

func unmap(b []byte) error { return syscall.Munmap(b) }
