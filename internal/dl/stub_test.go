// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cgo || !linux

package dl

import (
	"errors"
	"strings"
	"testing"
)

func TestStubSaysWhy(t *testing.T) {
	_, err := Open("libany.so")
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "without cgo") {
		t.Fatalf("Open = %v", err)
	}
}
