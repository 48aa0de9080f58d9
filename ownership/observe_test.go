// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "testing"

// wantNames wants what Names says of an accessor in any of its lives, in its present
// one, and in its next.
func (h *harness) wantNames(a Accessor, anyLife, life, next bool) {
	h.t.Helper()
	m := h.member(a)
	other := m.Incarnation
	other[5]++
	got := [3]bool{h.reg.Names(a, Incarnation{}), h.reg.Names(a, m.Incarnation), h.reg.Names(a, other)}
	if want := [3]bool{anyLife, life, next}; got != want {
		h.t.Errorf("%s is named: any life, this one, the next: %v, want %v", a, got, want)
	}
}

// TestNames: an accessor is named by what is owned and by who asked, and no longer.
func TestNames(t *testing.T) {
	h := newHarness(t)
	h.wantNames("a", false, false, false)

	p := h.open(1, Receive, "a")
	h.wantNames("a", true, true, false)
	h.wantNames("b", false, false, false)
	h.publish(p)
	h.ok(h.report(p, "a", Failed))
	h.wantNames("a", true, true, false) // it is proven, and not released
	h.ok(h.reg.Close(0, p.Session))
	h.wantNames("a", false, false, false)

	h.requested(sessionNamed(2, 1), "a") // is kept
	h.wantNames("a", true, false, false)
	h.cancel(sessionNamed(2, 1)) // answers it: messages wait
	h.wantNames("a", true, false, false)
	h.deliver("a")
	h.wantNames("a", false, false, false)

	h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(3, 1), Side: Send}))
	h.requested(sessionNamed(3, 1), "a")
	h.wantNames("a", true, true, false)
	h.cancel(sessionNamed(3, 1))
	h.ok(h.reg.Close(0, sessionNamed(3, 1)))
	h.deliver("a")
	h.wantNames("a", false, false, false)
}

// TestNamesOfManyPieces: of several pieces that name an accessor, the last one counts.
func TestNamesOfManyPieces(t *testing.T) {
	h := newHarness(t)
	p, q, r := h.open(1, Receive, "a", "b"), h.open(2, Receive, "a"), h.open(3, Receive, "a")
	for _, x := range []PieceName{p, r, q} {
		h.wantNames("a", true, true, false)
		h.cancel(x.Session)
		h.ok(h.reg.Close(0, x.Session))
	}
	h.wantNames("a", false, false, false)
	h.wantNames("b", false, false, false)
}
