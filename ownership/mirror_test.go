// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
)

// mirror is what somebody knows who reads the effects and nothing else.
type mirror map[string]string

// mirrored reads the same from a snapshot.
func mirrored(s Snapshot) mirror {
	m := mirror{"admission": s.Admission.String(), "fatal": fmt.Sprint(s.Fatal)}
	for _, st := range s.Sessions {
		if st.Outcome.Terminal() {
			m["session "+st.Name.String()] = answer(st.Outcome, st.Cause, st.Origin)
		}
		if st.Settled {
			m["settled "+st.Name.String()] = "true"
		}
		for _, p := range st.Pieces {
			if p.Outcome.Terminal() {
				m["piece "+p.Name.String()] = answer(p.Outcome, p.Cause, p.Origin)
			}
			if p.Invalid {
				m["invalid "+p.Name.String()] = "true"
			}
			m["gate "+p.Name.String()] = p.Gate.String()
			for _, c := range p.all() {
				m["claim "+c.Name.String()] = c.State.String()
			}
		}
	}
	return m
}

// follow carries out an effect.
func (m mirror) follow(e Effect) error {
	move := func(key string, from, to fmt.Stringer) error {
		if was, known := m[key]; known && was != from.String() {
			return fmt.Errorf("%s goes from %v, and was %s", key, from, was)
		}
		m[key] = to.String()
		return nil
	}
	switch e := e.(type) {
	case *ClaimMoved:
		return move("claim "+e.Claim().String(), e.From, e.To)
	case *GateMoved:
		return move("gate "+e.Piece.String(), e.From, e.To)
	case *AdmissionChanged:
		return move("admission", e.From, e.To)
	case *PieceEnded:
		m["piece "+e.Piece.String()] = answer(e.Outcome, e.Cause, e.Origin)
	case *PieceInvalid:
		m["invalid "+e.Piece.String()] = "true"
	case *SessionEnded:
		m["session "+e.Session.String()] = answer(e.Outcome, e.Cause, e.Origin)
	case *SessionSettled:
		m["settled "+e.Session.String()] = "true"
	case *SessionUnsettled:
		delete(m, "settled "+e.Session.String())
	case *FatalLatched:
		m["fatal"] = "true"
	case *SessionClosed:
		if was := m["session "+e.Session.String()]; was != answer(e.Outcome, e.Cause, e.Origin) {
			return fmt.Errorf("%v closes as %v, and was %s", e.Session, answer(e.Outcome, e.Cause, e.Origin), was)
		}
		delete(m, "session "+e.Session.String())
		delete(m, "settled "+e.Session.String())
	case *Released:
		for key := range m {
			for _, what := range []string{"piece ", "invalid ", "gate "} {
				delete(m, what+e.Piece.String())
			}
			if claims := "claim " + e.Piece.String() + " of "; len(key) > len(claims) && key[:len(claims)] == claims {
				delete(m, key)
			}
		}
	}
	return nil
}

// reflects wants the effects of a call to tell all that the call changed: nobody
// needs to look for what happened.
func (h *harness) reflects(after Snapshot, effects Effects) {
	h.t.Helper()
	m := mirrored(h.seen)
	for _, e := range effects {
		if err := m.follow(e); err != nil {
			h.t.Fatalf("effect %v: %v", e, err)
		}
	}
	want := mirrored(after)
	for _, p := range pieces(after) { // what a new piece begins with
		for _, c := range p.all() {
			m.begin("claim "+c.Name.String(), claim.Unpublished)
		}
		m.begin("gate "+p.Name.String(), gate.Open)
	}
	if !maps.Equal(m, want) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if m[key] != want[key] {
				h.t.Errorf("the effects say that %s is %q, and it is %q", key, m[key], want[key])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if _, said := m[key]; !said {
				h.t.Errorf("no effect says that %s is %q", key, want[key])
			}
		}
		h.t.FailNow()
	}
	h.seen = after
}

func (m mirror) begin(key string, state fmt.Stringer) {
	if m[key] == "" {
		m[key] = state.String()
	}
}
