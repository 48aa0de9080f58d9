// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// sentences are tests of the contract's sentences, by section and words.
type sentences map[string]func(h *harness)

func (list sentences) run(t *testing.T) {
	for name, check := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newHarness(t))
		})
	}
}

func (h *harness) cancel(s SessionName) CancelResult {
	h.t.Helper()
	result, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: s})
	h.ok(effects, err)
	return result
}

// cancelFrom is a CANCEL_SESSION of a peer; side is the one that it says it is.
func (h *harness) cancelFrom(s SessionName, a Accessor, side Side) CancelResult {
	h.t.Helper()
	result, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: s, Origin: FromPeer, From: h.member(a), FromSide: side})
	h.ok(effects, err)
	return result
}

func (h *harness) ack(s SessionName, a Accessor) {
	h.t.Helper()
	h.ok(h.reg.Ack(h.now, s, h.member(a)))
}

func (h *harness) fence(a Accessor, scope Scope) {
	h.t.Helper()
	h.ok(h.reg.Fence(h.now, FenceSpec{Accessor: a, Scope: scope}))
}

// operate has the backend say each status in turn.
func (h *harness) operate(p PieceName, a Accessor, statuses ...operation.Status) {
	h.t.Helper()
	for _, s := range statuses {
		h.ok(h.operation(p, a, s))
	}
}

// more adds a piece to the session of another.
func (h *harness) more(p PieceName, name string, side Side, cohort ...Accessor) PieceName {
	h.t.Helper()
	return h.piece(PieceSpec{Name: PieceName{p.Session, name}, Cohort: h.cohort(side, cohort...)})
}

// counted opens a session with a piece of which n candidates will write.
func (h *harness) counted(number uint64, n int, cohort ...Accessor) PieceName {
	h.t.Helper()
	s := sessionNamed(number, 1)
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: s, Side: Receive}))
	return h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(Receive, cohort...), Count: n})
}

// scattering opens a session with a piece that has a scatter, or gather, of its own.
func (h *harness) scattering(number uint64, side Side, cohort ...Accessor) PieceName {
	h.t.Helper()
	s := sessionNamed(number, 1)
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: s, Side: side}))
	return h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(side, cohort...), Local: true})
}

func (h *harness) local(p PieceName, e LocalEvent) (Effects, error) {
	return h.reg.Local(h.now, h.claim(p, Local), e)
}

// wantAnswer wants a piece's outcome, cause and origin, and its session's.
func (h *harness) wantAnswer(p PieceName, o outcome.State, cause Cause, origin Origin) {
	h.t.Helper()
	st := h.state(p)
	s, _ := h.reg.Session(p.Session)
	if st.Outcome != o || st.Cause != cause || st.Origin != origin || s.Outcome != o || s.Cause != cause || s.Origin != origin {
		h.t.Fatalf("piece %v, session %v; want %v", answer(st.Outcome, st.Cause, st.Origin), answer(s.Outcome, s.Cause, s.Origin), answer(o, cause, origin))
	}
}

// wantOutcome wants a piece's outcome, whatever the session's.
func (h *harness) wantOutcome(p PieceName, o outcome.State) {
	h.t.Helper()
	if st := h.state(p); st.Outcome != o {
		h.t.Fatalf("piece %v is %v, want %v", p, st.Outcome, o)
	}
}

func (h *harness) wantDrained(p PieceName, drained bool) {
	h.t.Helper()
	if st := h.state(p); st.Drained != drained {
		h.t.Fatalf("drained is %v: %+v", st.Drained, st)
	}
}

func (h *harness) wantLocal(p PieceName, s claim.State) {
	h.t.Helper()
	if st := h.state(p); st.Local.State != s {
		h.t.Fatalf("the local claim is %v, want %v", st.Local.State, s)
	}
}

// wantTold wants the messages that wait for an accessor, in order.
func (h *harness) wantTold(a Accessor, want ...string) {
	h.t.Helper()
	if got := h.labels(a); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		h.t.Fatalf("%s is told %v, want %v", a, got, want)
	}
}

// deliver has the streams take everything that waits for an accessor.
func (h *harness) deliver(a Accessor) {
	h.t.Helper()
	for m, waits := h.reg.Peek(a); waits; m, waits = h.reg.Peek(a) {
		if !h.reg.Delivered(a, m.Number) {
			h.t.Fatal("not delivered")
		}
	}
}

func (h *harness) wantAdmission(want Admission) {
	h.t.Helper()
	if got := h.reg.Admission(); got != want {
		h.t.Fatalf("admission is %v, want %v", got, want)
	}
}

// effects counts the effects of the last call whose line begins so.
func (h *harness) effects(prefix string) (n int) {
	for _, line := range h.log {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}
