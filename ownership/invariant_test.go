// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// observed is one call as a Checker sees it.
type observed struct {
	before, after Snapshot
	effects       Effects
	err           error
	timeOnly      bool
}

var observedPiece = PieceName{sessionNamed(1, 1), "p"}

// owning is a registry that owns one published piece of two accessors.
func owning() Snapshot {
	return Snapshot{
		At: second, Admission: AdmissionOpen,
		Sessions: []SessionState{{
			Name: observedPiece.Session, Side: Receive, Outcome: outcome.Active, Physical: PhysicalDraining,
			Pieces: []PieceState{{
				Name: observedPiece, Region: "R", Gate: gate.Sealed, Outcome: outcome.Active,
				Claims: []ClaimState{{State: claim.Published, Verdict: verdict.None}, {State: claim.Drained, Verdict: verdict.OK, By: claim.DoneOK}},
			}},
		}},
		Regions:  []RegionState{{ID: "R", Allocation: 1, Registration: 1, Registered: true, Owners: []PieceName{observedPiece}}},
		Counters: Counters{Admitted: 3, Released: 2, Owners: 1, Retained: 1, Sessions: 1},
	}
}

func (s *Snapshot) first() *PieceState { return &s.Sessions[0].Pieces[0] }

// settle has every claim of the piece drained, with success.
func (s *Snapshot) settle() {
	p := s.first()
	for i := range p.Claims {
		p.Claims[i] = ClaimState{State: claim.Drained, Verdict: verdict.OK, By: claim.DoneOK}
	}
	p.Drained = true
	s.Counters.Retained = 0
}

// succeed has the piece and its session SUCCEEDED.
func (s *Snapshot) succeed() {
	s.settle()
	s.first().Outcome, s.Sessions[0].Outcome, s.Sessions[0].Complete = outcome.Succeeded, outcome.Succeeded, true
}

// release takes the piece out.
func (s *Snapshot) release() {
	s.Sessions[0].Pieces, s.Regions[0].Owners = nil, nil
	s.Counters.Released, s.Counters.Owners, s.Counters.Retained = 3, 0, 0
}

func (o *observed) effect(list ...Effect) { o.effects = append(o.effects, list...) }

func released(seq uint64) *Released { return &Released{Stamp: Stamp{Seq: seq}, Piece: observedPiece} }

// breaks are calls that a registry must not serve so, by the invariant that each breaks.
// Each starts from a registry that is as it was before.
var breaks = map[string]func(o *observed){
	"I1 a live claim in a drained piece":       func(o *observed) { o.after.first().Drained, o.after.Counters.Retained = true, 0 },
	"I1 a live local claim in a drained piece": func(o *observed) { o.after.settle(); o.after.first().Local = &ClaimState{State: claim.Published} },
	"I1 a claim in doubt in a drained piece":   func(o *observed) { o.after.settle(); o.after.first().Claims[1].State = claim.InDoubt },
	"I1 released with a live claim":            func(o *observed) { o.after.release(); o.effect(released(1)) },
	"I1 released while its addresses are on their way": func(o *observed) {
		o.before.settle()
		o.before.first().Gate = gate.Publishing
		o.after.release()
		o.effect(released(1))
	},
	"I1 released with a live local claim": func(o *observed) {
		o.before.settle()
		o.before.first().Local = &ClaimState{State: claim.InDoubt}
		o.after.release()
		o.effect(released(1))
	},
	"I2 an exposed claim behind an aborted gate": func(o *observed) {
		o.after.first().Gate = gate.Aborted
		o.after.first().Claims[1].State = claim.SafeUnpublished
	},
	"I3 a session's outcome changes": func(o *observed) {
		o.before.Sessions[0].Outcome, o.after.Sessions[0].Outcome = outcome.Failed, outcome.Cancelled
	},
	"I3 a session's cause changes": func(o *observed) {
		o.both(func(s *Snapshot) { s.Sessions[0].Outcome = outcome.Failed })
		o.after.Sessions[0].Cause = CauseDoubt
	},
	"I3 a session's origin changes": func(o *observed) {
		o.both(func(s *Snapshot) { s.Sessions[0].Outcome = outcome.Failed })
		o.after.Sessions[0].Origin = FromPeer
	},
	"I3 a piece's outcome changes": func(o *observed) {
		o.before.first().Outcome, o.after.first().Outcome = outcome.Failed, outcome.Cancelled
	},
	"I3 a piece's cause changes": func(o *observed) {
		o.both(func(s *Snapshot) { s.first().Outcome = outcome.Failed })
		o.after.first().Cause = CauseDoubt
	},
	"I3 a piece's origin changes": func(o *observed) {
		o.both(func(s *Snapshot) { s.first().Outcome = outcome.Failed })
		o.after.first().Origin = FromPeer
	},
	"I4 a session succeeds before it is complete": func(o *observed) { o.after.succeed(); o.after.Sessions[0].Complete = false },
	"I4 a session succeeds without its piece":     func(o *observed) { o.after.succeed(); o.after.first().Outcome = outcome.Active },
	"I4 a new session succeeds without its piece": func(o *observed) {
		o.before = Snapshot{Counters: Counters{}}
		o.after.succeed()
		o.after.first().Outcome = outcome.Active
	},
	"I4 a piece succeeds with a claim that is live": func(o *observed) {
		o.after.succeed()
		o.after.first().Claims[0].State = claim.Published
		o.after.first().Drained, o.after.Counters.Retained = false, 1
	},
	"I4 a piece succeeds with a failed claim":  func(o *observed) { o.after.succeed(); o.after.first().Claims[0].Verdict = verdict.Failed },
	"I4 a piece succeeds with a settled claim": func(o *observed) { o.after.succeed(); o.after.first().Claims[0].State = claim.FailedQuiesced },
	"I4 a piece succeeds with a gate that is not sealed": func(o *observed) {
		o.after.succeed()
		o.after.first().Gate, o.after.first().Drained, o.after.Counters.Retained = gate.Publishing, false, 1
	},
	"I4 a piece succeeds and is invalid": func(o *observed) {
		o.after.succeed()
		o.after.first().Invalid, o.after.first().Drained, o.after.Counters.Retained = true, false, 1
	},
	"I4 a piece succeeds before its scatter": func(o *observed) {
		o.after.succeed()
		o.after.first().Local = &ClaimState{State: claim.FailedQuiesced, Verdict: verdict.OK}
	},
	"I4 a piece succeeds with a scatter that failed": func(o *observed) {
		o.after.succeed()
		o.after.first().Local = &ClaimState{State: claim.Drained, Verdict: verdict.Failed}
	},
	"I4 a count succeeds with too few": func(o *observed) {
		o.after.succeed()
		o.after.first().Count, o.after.first().Claims[0] = 2, ClaimState{State: claim.SafeUnpublished}
	},
	"I4 a count succeeds with a result that counts and is not OK": func(o *observed) {
		o.after.succeed()
		o.after.first().Count, o.after.first().Claims[0] = 1, ClaimState{State: claim.Drained, Verdict: verdict.Failed, Counts: true}
	},
	"I6 time alone ends a claim":    func(o *observed) { o.after.settle(); o.timeOnly = true },
	"I6 a withdrawal ends a claim":  func(o *observed) { o.after.settle(); o.after.first().Claims[0].By = claim.Withdraw },
	"I6 a publication ends a claim": func(o *observed) { o.after.settle(); o.after.first().Claims[0].By = claim.Publish },
	"I6 a doubt ends a claim":       func(o *observed) { o.after.settle(); o.after.first().Claims[0].By = claim.Doubt },
	"I7 drained and invalid":        func(o *observed) { o.after.settle(); o.after.first().Invalid = true },
	"I7 drained with an open gate":  func(o *observed) { o.after.settle(); o.after.first().Gate = gate.Open },
	"I7 no longer invalid":          func(o *observed) { o.before.first().Invalid = true },
	"I7 invalid and released": func(o *observed) {
		o.before.settle()
		o.before.first().Invalid = true
		o.after.release()
		o.effect(released(1))
	},
	"I8 gone and not released":     func(o *observed) { o.before.settle(); o.after.release() },
	"I8 released and still owned":  func(o *observed) { o.effect(released(1)) },
	"I8 released twice in a call":  func(o *observed) { o.before.settle(); o.after.release(); o.effect(released(1), released(2)) },
	"I9 released under FATAL":      func(o *observed) { o.before.settle(); o.both(fatal); o.after.release(); o.effect(released(1)) },
	"I9 FATAL is over":             func(o *observed) { fatal(&o.before) },
	"I9 FATAL without containment": func(o *observed) { o.after.Fatal = true },
	"I9 containment without FATAL": func(o *observed) { o.after.Counters.Contained = 1 },
	"I9 contained twice":           func(o *observed) { fatal(&o.after); o.after.Counters.Contained = 2 },
	"I9 drained under FATAL":       func(o *observed) { o.after.settle(); fatal(&o.after) },
	"I10 a deadline moves":         func(o *observed) { o.both(draining); o.after.Sessions[0].Deadline++ },
	"I10 a deadline moves that is past, and the session had not settled": func(o *observed) {
		o.both(draining)
		o.before.Sessions[0].Settled, o.after.At = false, 9*second
		o.after.Sessions[0].Deadline++
	},
	"I10 a settled session's deadline moves that is ahead": func(o *observed) {
		o.both(draining)
		o.both(func(s *Snapshot) { s.Sessions[0].Settled = true })
		o.after.Sessions[0].Deadline++
	},
	"I11 a stale call makes invalid": func(o *observed) { o.err = fail(KindStale, "", ""); o.effect(&PieceInvalid{Stamp: Stamp{Seq: 1}}) },
	"I11 a stale call releases":      func(o *observed) { o.err = fail(KindStale, "", ""); o.effect(released(1)) },
	"I11 a stale call closes":        func(o *observed) { o.err = fail(KindStale, "", ""); o.effect(&SessionClosed{Stamp: Stamp{Seq: 1}}) },
	"I11 a stale call moves a claim": func(o *observed) {
		o.err = fail(KindStale, "", "")
		o.effect(&ClaimMoved{Stamp: Stamp{Seq: 1}, Event: claim.Doubt})
	},
	"I12 a region moves under its owner":      func(o *observed) { o.after.Regions[0].Allocation++ },
	"I12 a registration ends under its owner": func(o *observed) { o.after.Regions[0].Registration++ },
	"I16 a region of another owns":            func(o *observed) { o.after.first().Region = "S" },
	"I16 a region is held by nobody's piece":  func(o *observed) { o.after.Regions[0].Owners = append(o.after.Regions[0].Owners, PieceName{}) },
	"I16 an owner without a region":           func(o *observed) { o.after.Regions[0].Owners = nil },
	"I17 a piece is missing":                  func(o *observed) { o.after.Counters.Admitted++ },
	"I17 the owners are miscounted":           func(o *observed) { o.after.Counters.Owners, o.after.Counters.Admitted = 2, 4 },
	"I17 the sessions are miscounted":         func(o *observed) { o.after.Counters.Sessions++ },
	"I17 what is retained is miscounted":      func(o *observed) { o.after.Counters.Retained++ },
	"effects are missing":                     func(o *observed) { o.effect(&SessionSettled{Stamp: Stamp{Seq: 2}}) },
}

func (o *observed) both(change func(*Snapshot)) { change(&o.before); change(&o.after) }

func fatal(s *Snapshot) { s.Fatal, s.Counters.Contained = true, 1 }

func draining(s *Snapshot) { s.Sessions[0].Draining, s.Sessions[0].Deadline = true, 5*second }

// fine are calls that break nothing, though they come near to it.
var fine = map[string]func(o *observed){
	"nothing changes":  func(*observed) {},
	"evidence settles": func(o *observed) { o.after.settle() },
	"time alone publishes nothing and takes nothing": func(o *observed) { o.timeOnly = true },
	"a claim is published by time":                   func(o *observed) { o.before.first().Claims[0].State = claim.Unpublished; o.timeOnly = true },
	"success":                                        func(o *observed) { o.after.succeed() },
	"success of a new session":                       func(o *observed) { o.before = Snapshot{}; o.after.succeed() },
	"success of a count": func(o *observed) {
		o.after.succeed()
		o.after.first().Count, o.after.first().Claims[1] = 1, ClaimState{State: claim.SafeUnpublished}
	},
	"success with a scatter": func(o *observed) {
		o.after.succeed()
		o.after.first().Local = &ClaimState{State: claim.Drained, Verdict: verdict.OK}
	},
	"a success stays": func(o *observed) {
		o.both((*Snapshot).succeed)
		o.both(func(s *Snapshot) { s.first().Claims[0].Verdict = verdict.Failed })
	},
	"a success of before is judged no more": func(o *observed) {
		o.both((*Snapshot).succeed)
		o.both(func(s *Snapshot) { s.Sessions[0].Complete = false })
	},
	"an aborted gate": func(o *observed) {
		o.after.settle()
		o.after.first().Gate = gate.Aborted
		o.before.first().Claims[0].State, o.before.first().Claims[1].State = claim.Unpublished, claim.Unpublished
		for i := range o.after.first().Claims {
			o.after.first().Claims[i] = ClaimState{State: claim.SafeUnpublished, By: claim.Withdraw}
		}
	},
	"a release": func(o *observed) { o.before.settle(); o.after.release(); o.effect(released(1)) },
	"a region moves after it": func(o *observed) {
		o.before.settle()
		o.after.release()
		o.after.Regions[0].Allocation++
		o.effect(released(1))
	},
	"a region moves before it is owned": func(o *observed) {
		o.before = Snapshot{Regions: []RegionState{{ID: "R", Allocation: 9}}}
		o.after.first().Name = observedPiece
	},
	"a region goes after it": func(o *observed) { o.before.settle(); o.after.release(); o.after.Regions = nil; o.effect(released(1)) },
	"FATAL begins":           func(o *observed) { fatal(&o.after) },
	"FATAL stays":            func(o *observed) { o.both(fatal) },
	"a settled session's next deadline": func(o *observed) {
		o.both(draining)
		o.before.Sessions[0].Settled, o.after.At = true, 5*second
		o.after.Sessions[0].Deadline++
	},
	"a first deadline": func(o *observed) { draining(&o.after) },
	"a stale call that notices a deadline": func(o *observed) {
		o.err = fail(KindStale, "", "")
		o.effect(&ClaimMoved{Stamp: Stamp{Seq: 1}, Event: claim.Withdraw})
	},
	"a call that fails otherwise": func(o *observed) { o.err = fail(KindConflict, "", ""); o.effect(&PieceInvalid{Stamp: Stamp{Seq: 1}}) },
}

func TestCheckerFinds(t *testing.T) {
	check := func(change func(*observed)) error {
		o := observed{before: owning(), after: owning()}
		change(&o)
		k := Checker{before: o.before}
		return k.Step(o.after, o.effects, o.err, o.timeOnly)
	}
	for name, change := range breaks {
		number, _, _ := strings.Cut(name, " ")
		switch err := check(change); {
		case err == nil:
			t.Errorf("%s: is not found", name)
		case number[0] == 'I' && !strings.HasPrefix(err.Error(), "invariant "+number+": "):
			t.Errorf("%s: %v", name, err)
		}
	}
	oneOfTwo := func(o *observed) {
		o.after.settle()
		o.after.Counters.Admitted, o.after.Counters.Owners, o.after.Counters.Retained = 4, 2, 1
		other := owning()
		second := *other.first()
		second.Name.Piece = "q"
		o.after.Sessions[0].Pieces = append(o.after.Sessions[0].Pieces, second)
		fatal(&o.after)
	}
	if err := check(oneOfTwo); err == nil || !strings.Contains(err.Error(), "1 owners are drained under FATAL") {
		t.Errorf("it counts otherwise: %v", err)
	}
	for name, change := range fine {
		if err := check(change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckerRemembers: what was released does not come back, and numbers go on.
func TestCheckerRemembers(t *testing.T) {
	var k Checker
	step := func(s Snapshot, list ...Effect) error { return k.Step(s, list, nil, false) }
	settled, gone := owning(), owning()
	settled.settle()
	gone.release()
	for i, err := range []error{step(settled, &SessionSettled{Stamp: Stamp{Seq: 1}}), step(gone, released(2)), step(gone)} {
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
	if err := step(gone, &SessionSettled{Stamp: Stamp{Seq: 2}}); err == nil || !strings.Contains(err.Error(), "has number 2, want 3") {
		t.Errorf("error is %v", err)
	}
	if err := step(gone, released(4)); err == nil || !strings.HasPrefix(err.Error(), "invariant I8: ") {
		t.Errorf("released a second time, when it is long gone: %v", err)
	}
	if err := step(settled); err == nil || !strings.HasPrefix(err.Error(), "invariant I8: ") {
		t.Errorf("what was released is owned again: %v", err)
	}
	if !slices.Equal(settled.Regions[0].Owners, []PieceName{observedPiece}) {
		t.Error("the checker changed a snapshot")
	}
}
