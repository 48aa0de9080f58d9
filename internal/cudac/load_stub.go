// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cgo || !linux

package cudac

import "github.com/kvxfer/kvxfer/internal/dl"

// Load always fails in this build; the error matches [dl.ErrNoLibrary] and
// says that it lacks cgo.
func Load(path string) (API, error) {
	_, err := dl.Open(path)
	return nil, err
}
