// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
)

// harness drives one registry on a virtual clock and checks every invariant
// after every call.
type harness struct {
	t         testing.TB
	reg       *Registry
	now       time.Duration
	checker   Checker
	contained []Containment
	lives     map[Accessor]byte
	claims    map[PieceName][]ClaimName
	log       []string // the last call's effects
	seen      Snapshot // after the last call
}

const second = time.Second

func newHarness(t testing.TB, change ...func(*Config)) *harness {
	t.Helper()
	h := &harness{t: t, lives: make(map[Accessor]byte), claims: make(map[PieceName][]ClaimName)}
	cfg := Config{
		Name: "self", Incarnation: Incarnation{1}, RequestTimeout: 5 * second, Grace: 5 * second,
		Contain: func(c Containment) error { h.contained = append(h.contained, c); return nil },
	}
	for _, fn := range change {
		fn(&cfg)
	}
	reg, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.reg, h.seen = reg, reg.Snapshot()
	return h
}

// did takes in one call; it returns the call's error.
func (h *harness) did(effects Effects, err error) error {
	h.t.Helper()
	h.log = h.log[:0]
	for _, e := range effects {
		h.log = append(h.log, e.String())
	}
	if err != nil && !KindOf(err).IsValid() {
		h.t.Fatalf("error %v has no kind", err)
	}
	after := h.reg.Snapshot()
	if bad := h.checker.Step(after, effects, err, false); bad != nil {
		h.t.Fatalf("%v after %q, error %v", bad, h.log, err)
	}
	h.reflects(after, effects)
	checkInvariants(h.t, h.reg)
	return err
}

// ok wants a call to succeed.
func (h *harness) ok(effects Effects, err error) {
	h.t.Helper()
	if h.did(effects, err) != nil {
		h.t.Fatal(err)
	}
}

// want wants a call to end with the sentinel, nil for success.
func (h *harness) want(want error) func(Effects, error) {
	h.t.Helper()
	return func(effects Effects, err error) {
		h.t.Helper()
		if h.did(effects, err); !errors.Is(err, want) {
			h.t.Fatalf("error is %v, want %v", err, want)
		}
	}
}

func (h *harness) tick(d time.Duration) {
	h.t.Helper()
	h.now += d
	h.ok(h.reg.Tick(h.now))
}

func sessionNamed(n uint64, attempt uint32) SessionName {
	return SessionName{RequestID{"origin", n}, attempt}
}

func (h *harness) member(a Accessor) Member {
	return Member{Accessor: a, Incarnation: Incarnation{2, h.lives[a], byte(len(a))}}
}

func (h *harness) cohort(side Side, names ...Accessor) []Member {
	out := make([]Member, len(names))
	for i, a := range names {
		if out[i] = h.member(a); side == Send {
			out[i].Sequence = uint64(100 + i)
		}
	}
	return out
}

// open admits session n and one piece of it, with a region of its own.
func (h *harness) open(n uint64, side Side, cohort ...Accessor) PieceName {
	h.t.Helper()
	s := sessionNamed(n, 1)
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: s, Side: side}))
	return h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(side, cohort...)})
}

// piece adds a piece; a region of its own is made for it where it names none.
func (h *harness) piece(spec PieceSpec) PieceName {
	h.t.Helper()
	if spec.Region == "" {
		spec.Region = "region of " + spec.Name.String()
	}
	if _, known := h.reg.Region(spec.Region); !known {
		if err := h.reg.AddRegion(RegionSpec{ID: spec.Region, Len: 1}); err != nil {
			h.t.Fatal(err)
		}
	}
	claims, effects, err := h.reg.AddPiece(h.now, spec)
	h.ok(effects, err)
	h.claims[spec.Name] = claims
	st := h.state(spec.Name)
	for i, c := range st.all() {
		if len(claims) != len(st.all()) || c.Name != claims[i] {
			h.t.Fatalf("claim %d is %v, and was said to be %v", i, c.Name, claims)
		}
	}
	return spec.Name
}

func (h *harness) publish(p ...PieceName) {
	h.t.Helper()
	h.ok(h.reg.Seal(h.now, p...))
	h.ok(h.reg.Finish(h.now, p...))
}

// claim returns the name of an accessor's claim on p.
func (h *harness) claim(p PieceName, a Accessor) ClaimName {
	h.t.Helper()
	for _, c := range h.claims[p] {
		if c.Accessor == a {
			return c
		}
	}
	m := h.member(a)
	return ClaimName{Incarnation{1}, p, a, m.Incarnation, h.claims[p][0].Sequence}
}

func (h *harness) report(p PieceName, a Accessor, e Evidence) (Effects, error) {
	return h.reg.Report(h.now, PeerReport{Claim: h.claim(p, a), From: a, Evidence: e})
}

func (h *harness) operation(p PieceName, a Accessor, s operation.Status) (Effects, error) {
	return h.reg.Operation(h.now, OperationReport{Claim: h.claim(p, a), Status: s})
}

func (h *harness) state(p PieceName) PieceState {
	h.t.Helper()
	s, _ := h.reg.Session(p.Session)
	for _, st := range s.Pieces {
		if st.Name == p {
			return st
		}
	}
	h.t.Fatalf("piece %v is not owned", p)
	return PieceState{}
}

func (h *harness) claimStates(p PieceName) string {
	out := ""
	for _, c := range h.state(p).Claims {
		out += fmt.Sprintf(" %s:%v", c.Name.Accessor, c.State)
	}
	return out
}

func (h *harness) wantClaims(p PieceName, want ...claim.State) {
	h.t.Helper()
	for i, c := range h.state(p).Claims {
		if c.State != want[i] {
			h.t.Fatalf("claims are%s, want %v", h.claimStates(p), want)
		}
	}
}

func (h *harness) labels(a Accessor) []string {
	out := []string{}
	for _, m := range h.reg.Waiting(a) {
		out = append(out, m.Message.Label())
	}
	return out
}
