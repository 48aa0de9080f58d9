// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package memory

func mapGuarded(int) ([]byte, error) { return nil, ErrUnsupported }
func makeUsable([]byte) error        { return ErrUnsupported }
func unmap([]byte) error             { return ErrUnsupported }
