// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
)

func TestResult(t *testing.T) {
	for _, tc := range []struct {
		r              fsm.Result
		text           string
		valid, refused bool
	}{
		{0, "Result(0)", false, true},
		{fsm.Moved, "moved", true, false},
		{fsm.Duplicate, "duplicate", true, false},
		{fsm.Ignored, "ignored", true, false},
		{fsm.Rejected, "rejected", true, true},
		{fsm.Conflict, "conflict", true, true},
		{6, "Result(6)", false, true},
		{255, "Result(255)", false, true},
	} {
		if got := tc.r.String(); got != tc.text {
			t.Errorf("Result(%d).String() = %q, want %q", uint8(tc.r), got, tc.text)
		}
		if got := tc.r.IsValid(); got != tc.valid {
			t.Errorf("%v.IsValid() = %v", tc.r, got)
		}
		if got := tc.r.Refused(); got != tc.refused {
			t.Errorf("%v.Refused() = %v", tc.r, got)
		}
	}
}

func TestRefusedError(t *testing.T) {
	for _, tc := range []struct {
		err  fsm.RefusedError
		text string
		is   error
		not  error
	}{
		{fsm.RefusedError{Machine: "claim", State: "DRAINED", Event: "publish", Result: fsm.Rejected, Reason: "done"},
			"fsm: claim: event publish in state DRAINED: rejected: done", fsm.ErrRejected, fsm.ErrConflict},
		{fsm.RefusedError{Machine: "claim", State: "DRAINED", Event: "settle", Result: fsm.Conflict},
			"fsm: claim: event settle in state DRAINED: conflict", fsm.ErrConflict, fsm.ErrRejected},
		{fsm.RefusedError{Machine: "claim", Result: fsm.Rejected},
			"fsm: claim: unknown state or event rejected", fsm.ErrRejected, fsm.ErrConflict},
	} {
		err := fmt.Errorf("owner 7: %w", &tc.err)
		if got := tc.err.Error(); got != tc.text {
			t.Errorf("Error() = %q, want %q", got, tc.text)
		}
		if !errors.Is(err, fsm.ErrRefused) || !errors.Is(err, tc.is) || errors.Is(err, tc.not) {
			t.Errorf("%v matches the wrong sentinels", err)
		}
		var re *fsm.RefusedError
		if !errors.As(err, &re) || re != &tc.err {
			t.Errorf("errors.As lost the refusal of %v", err)
		}
	}
}
