// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// Checker judges the invariants of contract §12 that one registry can show, I1
// to I12, I16 and I17, from what can be seen from outside: snapshots, effects
// and errors. It shares no code with the core. It is for tests, scenarios and
// debugging: a snapshot costs time in proportion to what is owned. The zero
// value is ready, before the registry's first call.
type Checker struct {
	before   Snapshot
	released map[PieceName]int
	seq      uint64
}

// Step judges one call by the snapshot after it, its effects and its error.
// timeOnly says that the call was a Tick. It returns the first broken invariant.
func (k *Checker) Step(after Snapshot, effects Effects, err error, timeOnly bool) error {
	for _, check := range []func() error{
		func() error { return k.checkEffects(effects, err) },
		func() error { return k.checkReleases(after, effects) },
		func() error { return k.checkTotals(after) },
		func() error { return k.checkRegions(after) },
		func() error { return k.checkSessions(after, timeOnly) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	k.before = after
	return nil
}

func broken(number int, format string, args ...any) error {
	return fmt.Errorf("invariant I%d: %s", number, fmt.Sprintf(format, args...))
}

// checkEffects: effects have no gaps, and a stale call shows deadlines only (I11).
func (k *Checker) checkEffects(effects Effects, err error) error {
	for _, e := range effects {
		if k.seq++; e.Stamped().Seq != k.seq {
			return fmt.Errorf("effect %v has number %d, want %d: a call's effects are missing", e, e.Stamped().Seq, k.seq)
		}
		if KindOf(err) != KindStale {
			continue
		}
		switch e := e.(type) {
		case *PieceInvalid, *Released, *SessionClosed:
			return broken(11, "a stale call: %v", e)
		case *ClaimMoved:
			if e.Event != claim.Withdraw {
				return broken(11, "a stale call: %v", e)
			}
		}
	}
	return nil
}

// checkReleases: a release is of a drained owner, once, and never under FATAL
// (I1, I7, I8, I9).
func (k *Checker) checkReleases(after Snapshot, effects Effects) error {
	if k.released == nil {
		k.released = make(map[PieceName]int)
	}
	now := make(map[PieceName]int)
	for _, e := range effects {
		if r, ok := e.(*Released); ok {
			now[r.Piece]++
			k.released[r.Piece]++
		}
	}
	kept := pieces(after)
	for name, was := range pieces(k.before) {
		_, stays := kept[name]
		switch {
		case stays == (now[name] == 1):
			return broken(8, "piece %v: owned before, owned after is %v, released %d times", name, stays, now[name])
		case stays:
		case was.Invalid:
			return broken(7, "piece %v was invalid and is released", name)
		case k.before.Fatal:
			return broken(9, "piece %v is released under FATAL", name)
		case was.Gate == gate.Publishing || slices.ContainsFunc(was.all(), func(c ClaimState) bool { return c.State.Live() }):
			return broken(1, "piece %v is released: gate %v, claims %v", name, was.Gate, was.all())
		}
	}
	for name, n := range k.released {
		if _, owned := kept[name]; n > 1 || owned {
			return broken(8, "piece %v was released %d times, owned now is %v", name, n, owned)
		}
	}
	return nil
}

// checkTotals: I17, I9 and the counters that can be recounted.
func (k *Checker) checkTotals(after Snapshot) error {
	n, all := after.Counters, pieces(after)
	retained := 0
	for _, p := range all {
		if !p.Drained {
			retained++
		}
	}
	switch {
	case n.Admitted != n.Released+uint64(n.Owners) || n.Owners != len(all) || n.Sessions != len(after.Sessions):
		return broken(17, "admitted %d, released %d, owners %d of %d, sessions %d of %d", n.Admitted, n.Released, n.Owners, len(all), n.Sessions, len(after.Sessions))
	case n.Retained != retained:
		return broken(17, "retained %d, counted %d", n.Retained, retained)
	case k.before.Fatal && !after.Fatal:
		return broken(9, "FATAL is no longer latched")
	case after.Fatal && retained != len(all):
		return broken(9, "%d owners are drained under FATAL", len(all)-retained)
	case after.Fatal != (n.Contained == 1):
		return broken(9, "FATAL is %v, containment was called %d times", after.Fatal, n.Contained)
	}
	return nil
}

// checkRegions: every owner is found at its region and no root went away under
// one (I12, I16).
func (k *Checker) checkRegions(after Snapshot) error {
	all, found := pieces(after), 0
	now := make(map[string]RegionState)
	for _, g := range after.Regions {
		now[g.ID] = g
		for _, name := range g.Owners {
			if p, ok := all[name]; !ok || p.Region != g.ID {
				return broken(16, "region %s is held by %v, which is not owned there", g.ID, name)
			}
			found++
		}
	}
	if found != len(all) {
		return broken(16, "%d owners, %d of them hold a region", len(all), found)
	}
	for _, was := range k.before.Regions {
		g, stays := now[was.ID]
		same := stays && g.Allocation == was.Allocation && g.Registration == was.Registration
		if len(was.Owners) > 0 && len(g.Owners) > 0 && !same {
			return broken(12, "region %s changed from %+v to %+v while owned", was.ID, was, g)
		}
	}
	return nil
}

func (k *Checker) checkSessions(after Snapshot, timeOnly bool) error {
	before := make(map[SessionName]SessionState)
	for _, s := range k.before.Sessions {
		before[s.Name] = s
	}
	for _, s := range after.Sessions {
		was := before[s.Name]
		if err := checkSession(was, s, after.At); err != nil {
			return err
		}
		old := make(map[string]PieceState)
		for _, p := range was.Pieces {
			old[p.Name.Piece] = p
		}
		for _, p := range s.Pieces {
			if err := checkPiece(old[p.Name.Piece], p, timeOnly); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSession: I3, I4 and I10. A new session was nothing: it has no answer and no deadline.
func checkSession(was, is SessionState, at time.Duration) error {
	succeeded := func(p PieceState) bool { return p.Outcome == outcome.Succeeded }
	if is.Outcome == outcome.Succeeded && was.Outcome != outcome.Succeeded &&
		(!is.Complete || slices.ContainsFunc(is.Pieces, func(p PieceState) bool { return !succeeded(p) })) {
		return broken(4, "session %v SUCCEEDED, complete is %v, pieces %v", is.Name, is.Complete, is.Pieces)
	}
	if was.Outcome.Terminal() && (was.Outcome != is.Outcome || was.Cause != is.Cause || was.Origin != is.Origin) {
		return broken(3, "session %v was %v and is %v", is.Name, answer(was.Outcome, was.Cause, was.Origin), answer(is.Outcome, is.Cause, is.Origin))
	}
	ahead := was.Draining && (!was.Settled || was.Deadline > at)
	if ahead && is.Deadline != was.Deadline {
		return broken(10, "session %v had to settle by %v, now by %v", is.Name, was.Deadline, is.Deadline)
	}
	return nil
}

// checkPiece: I2, I3, I4, I5, I6 and I7.
func checkPiece(was, is PieceState, timeOnly bool) error {
	if is.Gate == gate.Aborted {
		for _, c := range is.Claims {
			if c.State != claim.SafeUnpublished {
				return broken(2, "claim %v is %v behind an ABORTED gate", c.Name, c.State)
			}
		}
	}
	if was.Outcome.Terminal() && (was.Outcome != is.Outcome || was.Cause != is.Cause || was.Origin != is.Origin) {
		return broken(3, "piece %v was %v and is %v", is.Name, was.Outcome, is.Outcome)
	}
	if is.Outcome == outcome.Succeeded && !was.Outcome.Terminal() && !is.deserves() {
		return broken(4, "piece %v SUCCEEDED with %+v", is.Name, is)
	}
	if is.Drained && (is.Invalid || is.Gate != gate.Sealed && is.Gate != gate.Aborted) || was.Invalid && !is.Invalid {
		return broken(7, "piece %v: drained %v, invalid %v, was %v, gate %v", is.Name, is.Drained, is.Invalid, was.Invalid, is.Gate)
	}
	old := was.all()
	for i, c := range is.all() {
		if is.Drained && !c.State.Reusable() {
			return broken(1, "claim %v is %v in a drained piece", c.Name, c.State)
		}
		if i >= len(old) || old[i].State == c.State {
			continue
		}
		live := old[i].State.Live() && c.State.Reusable()
		if live && (timeOnly || c.By == claim.Withdraw || c.By == claim.Publish || c.By == claim.Doubt) {
			return broken(6, "claim %v went from %v to %v by %v, by time alone is %v", c.Name, old[i].State, c.State, c.By, timeOnly)
		}
	}
	return nil
}

// all returns the cohort's claims and the local one.
func (p *PieceState) all() []ClaimState {
	if p.Local == nil {
		return p.Claims
	}
	return append(slices.Clone(p.Claims), *p.Local)
}

// deserves reports complete positive evidence; an acknowledgement, a fence or a
// settlement is none (I4, I5).
func (p *PieceState) deserves() bool {
	need := len(p.Claims)
	if p.Count > 0 {
		need = p.Count
	}
	ok := func(c ClaimState) bool { return c.State == claim.Drained && c.Verdict == verdict.OK }
	n := 0
	for _, c := range p.Claims {
		switch {
		case ok(c):
			n++
		case c.State.Live() || c.Counts:
			return false
		}
	}
	return n == need && p.Gate == gate.Sealed && !p.Invalid && (p.Local == nil || ok(*p.Local))
}

func pieces(s Snapshot) map[PieceName]*PieceState {
	all := make(map[PieceName]*PieceState)
	for i := range s.Sessions {
		for j := range s.Sessions[i].Pieces {
			p := &s.Sessions[i].Pieces[j]
			all[p.Name] = p
		}
	}
	return all
}
