// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package memory

import "fmt"

func madviseHuge([]byte) error {
	return fmt.Errorf("memory: huge pages: %w", ErrUnsupported)
}

// ResidentHuge is 0 here: this system has no huge pages that the package can
// ask for.
func (a *Arena) ResidentHuge() (int, error) { return 0, nil }
