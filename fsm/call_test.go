// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
)

func TestCallError(t *testing.T) {
	static := &fsm.CallError{System: "receive", Action: "seal", Kind: fsm.Closed, Reason: "the piece has its outcome"}
	err := fmt.Errorf("piece 3: %w", static)
	if want := "piece 3: fsm: receive: seal: closed: the piece has its outcome"; err.Error() != want {
		t.Errorf("Error() = %q, want %q", err, want)
	}
	if !errors.Is(err, fsm.Closed) || errors.Is(err, fsm.Fatal) || errors.Is(err, fsm.ErrRefused) {
		t.Errorf("%v matches the wrong kinds", err)
	}
	var ce *fsm.CallError
	if !errors.As(err, &ce) || ce != static {
		t.Errorf("errors.As lost %v", err)
	}
	for k, text := range map[fsm.Kind]string{0: "Kind(0)", fsm.InvalidArgument: "invalid_argument", fsm.Contradiction: "conflict",
		fsm.Misuse: "reject", fsm.Capacity: "capacity", 9: "Kind(9)"} {
		if k.String() != text || k.IsValid() != (k > 0 && k < 9) {
			t.Errorf("Kind(%d) is %q, valid %v", uint8(k), k, k.IsValid())
		}
	}
}
