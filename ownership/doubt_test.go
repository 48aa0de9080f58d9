// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/gen/operation"
)

// Doubts follow the claims: each life has its own line, the oldest doubt gives
// the age, and proof ends it.
func TestDoubtsAreCountedByLife(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Quarantine = QuarantineOff })
	if got := h.reg.Doubts(); len(got) != 0 {
		t.Fatalf("got %v before any doubt", got)
	}
	first, later := h.open(1, Receive, "b", "a"), h.open(2, Receive, "b")
	h.publish(first)
	h.publish(later)
	h.now += second
	h.ok(h.report(first, "b", InDoubt))
	h.now += second
	h.ok(h.report(later, "b", InDoubt))
	b := h.member("b")
	want := []Doubt{{Accessor: "b", Incarnation: b.Incarnation, Claims: 2, Since: second}}
	if got := h.reg.Doubts(); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	h.ok(h.report(first, "b", FailedQuiesced))
	want[0].Claims, want[0].Since = 1, 2*second
	if got := h.reg.Doubts(); !slices.Equal(got, want) {
		t.Fatalf("after one of them was proven: got %v, want %v", got, want)
	}
	h.ok(h.report(later, "b", FailedQuiesced))
	if got := h.reg.Doubts(); len(got) != 0 {
		t.Fatalf("after both: got %v", got)
	}
}

// A snapshot says how far an own operation came: it decides what proves its end.
func TestSnapshotShowsTheOwnOperation(t *testing.T) {
	h := newHarness(t)
	sending, receiving := h.open(1, Send, "a"), h.open(2, Receive, "a")
	h.ok(h.reg.Seal(h.now, sending))
	h.ok(h.operation(sending, "a", operation.StatusSubmitting))
	phase := func(p PieceName) operation.Phase {
		s, _ := h.reg.Session(p.Session)
		return s.Pieces[0].Claims[0].Operation
	}
	if got := phase(sending); got != operation.PhaseSubmitting {
		t.Errorf("the sender's operation is %v", got)
	}
	if got := phase(receiving); got != 0 {
		t.Errorf("a receiver has an operation: %v", got)
	}
}
