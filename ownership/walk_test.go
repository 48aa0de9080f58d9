// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// walker makes weighted random calls, most of them sensible: uniform ones would
// hardly ever reach a success.
type walker struct {
	*harness
	rng       *rand.Rand
	pieces    []PieceName
	trace     []string
	number    uint64 // of the newest request
	succeeded int
	fatals    int
	released  int
}

var walkAccessors = []Accessor{"a", "b", "c"}

func TestRandomWalks(t *testing.T) {
	succeeded, fatal, released := 0, 0, 0
	for seed := range uint64(150) {
		a, b := walk(t, seed, 250), ""
		succeeded, fatal, released = succeeded+a.succeeded, fatal+a.fatals, released+a.released
		if seed%10 == 0 {
			b = fmt.Sprint(walk(t, seed, 250).trace)
			if b != fmt.Sprint(a.trace) {
				t.Fatalf("seed %d: the same calls gave other effects", seed)
			}
		}
	}
	t.Logf("%d sessions succeeded, %d walks ended FATAL, %d pieces were released", succeeded, fatal, released)
	if succeeded < 100 || fatal < 10 || released < 100 {
		t.Error("the walks do not reach enough: change their weights")
	}
}

func walk(t *testing.T, seed uint64, steps int) *walker {
	w := &walker{
		harness: newHarness(t, func(c *Config) { c.Quarantine = Quarantine(seed % 3); c.Owners = 20 }),
		rng:     rand.New(rand.NewPCG(seed, 1)),
		number:  10,
	}
	for i := range steps {
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d, step %d", seed, i)
				}
			}()
			w.step()
		}()
		w.trace = append(w.trace, fmt.Sprint(w.log))
	}
	if len(w.contained) > 1 {
		t.Fatalf("seed %d: contained %d times", seed, len(w.contained))
	}
	w.fatals = len(w.contained)
	return w
}

func pick[T any](w *walker, list []T) T { return list[w.rng.IntN(len(list))] }

func (w *walker) step() {
	sessions := w.reg.Snapshot().Sessions
	if len(sessions) < 3 && w.rng.IntN(3) > 0 {
		w.admit()
		return
	}
	if len(sessions) == 0 {
		w.outside()
		return
	}
	s := pick(w, sessions)
	switch n := w.rng.IntN(100); {
	case n < 5 || len(s.Pieces) == 0:
		w.add(s)
	case n < 90:
		w.progress(s, pick(w, s.Pieces))
	case n < 94:
		w.disturb(s)
	default:
		w.outside()
	}
}

func (w *walker) note(effects Effects, err error) {
	for _, e := range effects {
		switch e := e.(type) {
		case *SessionEnded:
			if e.Cause == "" {
				w.succeeded++
			}
		case *Released:
			w.released++
		}
	}
	w.did(effects, err)
}

func (w *walker) admit() {
	if w.reg.Admission() == AdmissionQuarantined && w.rng.IntN(2) == 0 {
		w.note(w.reg.Reopen(w.now))
	}
	w.number++
	name := sessionNamed(w.number, 1)
	if w.rng.IntN(4) == 0 {
		name = sessionNamed(w.number-uint64(w.rng.IntN(3)), uint32(1+w.rng.IntN(3)))
	}
	w.note(w.reg.Admit(w.now, SessionSpec{Name: name, Side: Side(1 + w.rng.IntN(2))}))
}

func (w *walker) add(s SessionState) {
	spec := PieceSpec{Name: PieceName{s.Name, pick(w, []string{"p", "q", "r"})}, Local: w.rng.IntN(4) == 0}
	spec.Region = pick(w, []string{"A", "B", "C", "D", "E", "F"})
	w.reg.AddRegion(RegionSpec{ID: spec.Region, Len: 1})
	order := w.rng.Perm(len(walkAccessors))
	for _, i := range order[:1+w.rng.IntN(len(order))] {
		spec.Cohort = append(spec.Cohort, w.cohort(s.Side, walkAccessors[i])...)
	}
	if s.Side == Receive && w.rng.IntN(3) == 0 {
		spec.Count = 1 + w.rng.IntN(len(spec.Cohort))
	}
	claims, effects, err := w.reg.AddPiece(w.now, spec)
	if w.note(effects, err); err == nil {
		w.claims[spec.Name] = claims
		w.pieces = append(w.pieces, spec.Name)
	}
}

// progress makes the next step of an orderly life, and sometimes another one.
func (w *walker) progress(s SessionState, p PieceState) {
	sensible := w.rng.IntN(12) > 0
	c := pick(w, p.Claims).Name
	for _, x := range p.Claims {
		if sensible && x.State.Live() {
			c = x.Name
		}
	}
	l := p.Local
	switch {
	case s.Outcome.Terminal() && s.Settled && sensible:
		w.note(w.reg.Close(w.now, s.Name))
	case l != nil && (l.State == claim.Published || !sensible):
		w.note(w.reg.Local(w.now, l.Name, pick(w, []LocalEvent{LocalDone, LocalDone, LocalDoubt, LocalStart})))
	case l != nil && l.State == claim.Unpublished && w.rng.IntN(2) == 0:
		w.note(w.reg.Local(w.now, l.Name, LocalStart))
	case p.Gate == gate.Open && sensible:
		w.note(w.reg.Seal(w.now, p.Name))
	case p.Gate == gate.Publishing && w.rng.IntN(2) == 0:
		w.note(w.reg.Finish(w.now, p.Name))
	case p.Outcome == outcome.Succeeded && sensible:
		w.note(w.reg.Complete(w.now, s.Name))
	case s.Side == Receive:
		e := OK
		if w.rng.IntN(8) == 0 {
			e = Evidence(1 + w.rng.IntN(4))
		}
		if st := p.stateOf(c); st == claim.InDoubt && sensible {
			e = FailedQuiesced
		}
		w.note(w.reg.Report(w.now, PeerReport{Claim: c, From: c.Accessor, Evidence: e}))
	default:
		status := operation.StatusDone
		if w.reg.core.owned(s.Name).piece(p.Name.Piece).phase(0) == operation.PhaseIdle || w.rng.IntN(2) == 0 {
			status = operation.StatusSubmitting
		}
		if w.rng.IntN(8) == 0 {
			status = pick(w, operation.AllStatuses())
		}
		w.note(w.reg.Operation(w.now, OperationReport{Claim: c, Status: status}))
	}
}

func (p *PieceState) stateOf(n ClaimName) claim.State {
	for _, c := range p.Claims {
		if c.Name == n {
			return c.State
		}
	}
	return 0
}

// disturb makes what goes wrong in a session.
func (w *walker) disturb(s SessionState) {
	a := pick(w, walkAccessors)
	switch w.rng.IntN(7) {
	case 0:
		spec := CancelSpec{Session: s.Name, Origin: FromLocal}
		if w.rng.IntN(2) == 0 {
			spec.Origin, spec.From = FromPeer, w.member(a)
		}
		_, effects, err := w.reg.Cancel(w.now, spec)
		w.note(effects, err)
	case 1:
		w.note(w.reg.Fail(w.now, s.Name, "reason"))
	case 2:
		w.note(w.reg.Ack(w.now, s.Name, w.member(a)))
	case 3:
		w.note(w.reg.FailSend(w.now, pick(w, s.Pieces).Name, []Accessor{a}))
	case 4:
		w.note(w.reg.Requested(w.now, s.Name, w.member(a)))
	case 5:
		if len(w.pieces) > 0 { // an old or a foreign name
			c := w.claim(pick(w, w.pieces), a)
			w.note(w.reg.Report(w.now, PeerReport{Claim: c, From: a, Evidence: Evidence(1 + w.rng.IntN(4))}))
		}
	case 6:
		w.note(w.reg.Seal(w.now, s.Pieces[0].Name, pick(w, s.Pieces).Name))
	}
}

// outside makes what belongs to no session.
func (w *walker) outside() {
	a := pick(w, walkAccessors)
	switch w.rng.IntN(10) {
	case 0:
		w.note(w.reg.Fence(w.now, FenceSpec{Accessor: pick(w, append(slices.Clone(walkAccessors), Local)), Scope: Scope(1 + w.rng.IntN(3))}))
		w.lives[a]++
	case 1:
		if w.rng.IntN(4) == 0 {
			w.note(w.reg.Gone(w.now, a, w.member(a).Incarnation))
			w.lives[a]++
		}
	case 2, 3:
		w.note(w.reg.Reopen(w.now))
	case 4:
		name := sessionNamed(w.number+2-uint64(w.rng.IntN(4)), uint32(w.rng.IntN(4)))
		_, effects, err := w.reg.Cancel(w.now, CancelSpec{Session: name, Origin: FromPeer, From: w.member(a), FromSide: Side(w.rng.IntN(3))})
		w.note(effects, err)
	case 5:
		if w.rng.IntN(8) == 0 {
			w.note(w.reg.Watermark(w.now, "origin", w.number-uint64(w.rng.IntN(3))))
		}
	case 6:
		w.note(w.reg.Reuse(w.now, pick(w, []string{"A", "B", "C"})))
	case 7:
		if w.rng.IntN(10) == 0 {
			w.note(w.reg.Stop(w.now))
		}
	default:
		w.now += time.Duration(w.rng.IntN(4000)) * time.Millisecond
		w.note(w.reg.Tick(w.now))
	}
	for m, ok := w.reg.Peek(a); ok && w.rng.IntN(3) > 0; m, ok = w.reg.Peek(a) {
		w.reg.Delivered(a, m.Number)
	}
}
