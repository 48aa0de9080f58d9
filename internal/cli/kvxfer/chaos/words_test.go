// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import "testing"

// Only what the C library says of itself excuses a death: a panic of ours does not.
func TestOnlyTheLibrarysAbortIsOne(t *testing.T) {
	for text, want := range map[string]bool{
		"[vm:1:0:1]  arbiter.c:36   Assertion `ucs_arbiter_group_is_empty(group)' failed\nSIGABRT: abort\n": true,
		"[vm:1:0:1]  ucp_request.inl:356  Fatal: unexpected error: Endpoint timeout\nSIGABRT: abort\n":      true,
		"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n":                              false,
		"SIGABRT: abort\n": false,
		"[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x0]\n": false,
	} {
		w := new(words)
		if _, err := w.Write([]byte(text)); err != nil || w.aborted() != want {
			t.Errorf("%q: %v, %v", text, w.aborted(), err)
		}
	}
}
