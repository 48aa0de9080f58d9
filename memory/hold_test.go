// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"testing"
)

func TestHeldArenaIsNotClosed(t *testing.T) {
	a, err := New(Spec{Len: 100})
	if err != nil {
		t.Fatal(err)
	}
	first, err1 := a.Hold()
	second, err2 := a.Hold()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, release := range []func(){first, first, second} {
		if err := a.Close(); !errors.Is(err, ErrHeld) || a.Len() != 100 {
			t.Fatalf("got %v with %d bytes left, want %v", err, a.Len(), ErrHeld)
		}
		release() // the same one again counts once
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Hold(); !errors.Is(err, ErrClosed) {
		t.Errorf("hold of a closed arena: %v", err)
	}
}
