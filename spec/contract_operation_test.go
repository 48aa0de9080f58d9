// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
)

// wantDecision is the table of contract §2, "Our own operation", with the notes
// below it, written as code that shares nothing with the spec. It answers each
// row from the left column to the right one.
func wantDecision(status operation.Status, c claim.State, phase operation.Phase, active bool) operation.Decision {
	answer := func(a operation.Action) operation.Decision { return operation.Decision{Action: a, Phase: phase} }
	offer := func(e claim.Event) operation.Decision {
		return operation.Decision{Action: operation.ActionOffer, Event: e, Phase: phase}
	}
	unpublished := c == claim.Unpublished || c == claim.SafeUnpublished
	published, doubt := c == claim.Published, c == claim.InDoubt
	asked := phase == operation.PhaseSubmitting || phase == operation.PhaseSubmitted
	retained := phase != operation.PhaseDropped

	switch status {
	case operation.StatusSubmitting:
		switch {
		case !published || !retained:
			return answer(operation.ActionReject)
		case asked:
			return answer(operation.ActionDuplicate)
		case !active:
			return answer(operation.ActionClosed)
		}
		return operation.Decision{Action: operation.ActionAccept, Phase: operation.PhaseSubmitting}
	case operation.StatusSubmitted:
		switch {
		case unpublished, published && !asked:
			return answer(operation.ActionConflict)
		case published && phase == operation.PhaseSubmitted:
			return answer(operation.ActionDuplicate)
		case published:
			return operation.Decision{Action: operation.ActionAccept, Phase: operation.PhaseSubmitted}
		}
		return answer(operation.ActionIgnore)
	case operation.StatusNotSubmitted:
		if published && (phase == operation.PhaseSubmitted || !retained) {
			return answer(operation.ActionConflict)
		}
		return offer(claim.Unexposed)
	case operation.StatusInProgress:
		if unpublished || published && !asked {
			return answer(operation.ActionConflict)
		}
		return answer(operation.ActionIgnore)
	case operation.StatusDone:
		switch {
		case unpublished, published && !asked:
			return answer(operation.ActionConflict)
		case published, c == claim.Drained:
			return offer(claim.DoneOK)
		case retained:
			return offer(claim.Settle)
		}
		return answer(operation.ActionStale)
	}
	return wantDoubtful(status, c, phase, unpublished, published, doubt)
}

// wantDoubtful answers the statuses that prove no ordinary end.
func wantDoubtful(status operation.Status, c claim.State, phase operation.Phase, unpublished, published, doubt bool) operation.Decision {
	d := operation.Decision{Action: operation.ActionIgnore, Phase: phase}
	if unpublished {
		d.Action = operation.ActionConflict
		return d
	}
	offer := func(e claim.Event) { d.Action, d.Event = operation.ActionOffer, e }
	switch status {
	case operation.StatusError:
		offer(claim.Doubt)
	case operation.StatusOverdue:
		if published {
			offer(claim.Doubt)
		}
	case operation.StatusConfirmed:
		if doubt {
			offer(claim.Settle)
		}
	case operation.StatusNotFound, operation.StatusReplaced, operation.StatusLost:
		if published || doubt {
			offer(claim.Doubt)
			d.Phase = operation.PhaseDropped
		}
	}
	return d
}

// TestOperation checks every combination: 11 statuses, 6 states, 4 phases, 2.
func TestOperation(t *testing.T) {
	n := 0
	for _, status := range operation.AllStatuses() {
		for _, c := range claim.AllStates() {
			for _, phase := range operation.AllPhases() {
				for _, active := range []bool{false, true} {
					n++
					got := operation.Decide(status, c, phase, active)
					if want := wantDecision(status, c, phase, active); got != want {
						t.Errorf("%v on %v, %v, active %v: got %v, want %v", status, c, phase, active, got, want)
					}
				}
			}
		}
	}
	if n != 11*6*4*2 {
		t.Errorf("checked %d combinations", n)
	}
}

// TestOperationKeepsMemory: whatever a status and a claim say, only proof of the
// contract makes a published claim reusable, and a dropped operation proves
// nothing but by the target's own word (invariant I6, I11).
func TestOperationKeepsMemory(t *testing.T) {
	for _, status := range operation.AllStatuses() {
		for _, c := range claim.AllStates() {
			for _, phase := range operation.AllPhases() {
				d := operation.Decide(status, c, phase, true)
				if (d.Action == operation.ActionOffer) != d.Event.IsValid() {
					t.Errorf("%v on %v, %v: action %v with event %v", status, c, phase, d.Action, d.Event)
				}
				if d.Action != operation.ActionOffer || !c.Live() {
					continue
				}
				next, res := claim.Next(c, d.Event)
				freed := res == fsm.Moved && next.Reusable()
				proof := status == operation.StatusDone && phase != operation.PhaseDropped && phase != operation.PhaseIdle ||
					status == operation.StatusDone && c == claim.InDoubt && phase == operation.PhaseIdle ||
					status == operation.StatusNotSubmitted && (phase == operation.PhaseIdle || phase == operation.PhaseSubmitting) ||
					status == operation.StatusConfirmed && c == claim.InDoubt
				if freed && !proof {
					t.Errorf("%v on %v, %v frees the memory (%v)", status, c, phase, next)
				}
			}
		}
	}
}

// TestOperationOutOfRange: inputs outside the enums are rejected and keep the phase.
func TestOperationOutOfRange(t *testing.T) {
	for v := range 256 {
		for _, d := range []operation.Decision{
			operation.Decide(operation.Status(v), claim.Published, operation.PhaseIdle, true),
			operation.Decide(operation.StatusDone, claim.State(v), operation.PhaseIdle, true),
		} {
			if d.Phase != operation.PhaseIdle && v > 11 {
				t.Fatalf("%d: phase became %v", v, d.Phase)
			}
			if v == 0 || v > 11 {
				if want := (operation.Decision{Action: operation.ActionReject, Phase: operation.PhaseIdle}); d != want {
					t.Fatalf("%d: got %v, want %v", v, d, want)
				}
			}
		}
		if d := operation.Decide(operation.StatusDone, claim.Published, operation.Phase(v), true); (v == 0 || v > 4) && d.Action != operation.ActionReject {
			t.Fatalf("phase %d: got %v", v, d)
		}
	}
	if n := testing.AllocsPerRun(100, func() { operation.Decide(operation.StatusDone, claim.InDoubt, operation.PhaseDropped, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
