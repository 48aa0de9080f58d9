// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package admin

// private does nothing here: the mode is set once the name exists.
func private(uintptr) {}
