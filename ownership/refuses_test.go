// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/kvxfer/kvxfer/gen/operation"
)

// §8: who asks under a name of which nothing will come is answered without anybody's
// doing, whether the answer waits already or comes when the session is settled.
func TestRefuses(t *testing.T) {
	first, name := sessionNamed(1, 1), sessionNamed(1, 2)
	for what, tc := range map[string]struct {
		before func(*harness)
		name   SessionName
		want   bool
	}{
		"nothing is known":           {func(*harness) {}, name, false},
		"it is kept":                 {func(h *harness) { h.ok(h.reg.Requested(0, name, h.member("a"))) }, name, false},
		"cancelled ahead":            {func(h *harness) { h.cancel(name) }, name, true},
		"an earlier one, ahead":      {func(h *harness) { h.cancel(first) }, name, true},
		"a later one, ahead":         {func(h *harness) { h.cancel(sessionNamed(1, 3)) }, name, false},
		"older than an admitted one": {func(h *harness) { h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 3), Side: Send})) }, name, true},
		"younger than one":           {func(h *harness) { h.ok(h.reg.Admit(0, SessionSpec{Name: first, Side: Send})) }, name, false},
		"the watermark is at it":     {func(h *harness) { h.ok(h.reg.Watermark(0, "origin", 1)) }, name, false},
		"below the watermark":        {func(h *harness) { h.ok(h.reg.Watermark(0, "origin", 2)) }, name, true},
		"ACTIVE":                     {func(h *harness) { h.ok(h.reg.Admit(0, SessionSpec{Name: name, Side: Send})) }, name, false},
		"failed, and not proven": {func(h *harness) {
			h.operate(h.submitted(1, "a"), "a", operation.StatusOverdue)
		}, first, true},
		"CANCELLED and closed": {func(h *harness) {
			p := h.open(1, Send, "a")
			h.cancel(p.Session)
			h.ok(h.reg.Close(0, p.Session))
		}, first, true},
		"SUCCEEDED": {func(h *harness) { h.succeeded() }, first, false},
		"SUCCEEDED and closed": {func(h *harness) {
			h.ok(h.reg.Close(0, h.succeeded()))
		}, first, false},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHarness(t)
			tc.before(h)
			if got := h.reg.Refuses(tc.name); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func (h *harness) succeeded() SessionName {
	h.t.Helper()
	p := h.submitted(1, "a")
	h.operate(p, "a", operation.StatusDone)
	h.ok(h.reg.Complete(0, p.Session))
	return p.Session
}
