// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/looplab"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/evidence"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/verdict"
	"github.com/kvxfer/kvxfer/proptest/model"
)

// words are the contract's names of the results.
var words = map[fsm.Result]string{
	fsm.Moved: "moved", fsm.Duplicate: "duplicate", fsm.Ignored: "ignore", fsm.Rejected: "reject", fsm.Conflict: "conflict",
}

// walk offers events to a generated machine, to looplab's and to the model's
// table, and compares states and results after each.
func walk[S, E looplab.Code](table looplab.Table[S, E], want *model.Table) func(*rapid.T) {
	event := rapid.SampledFrom(table.Events)
	return func(t *rapid.T) {
		theirs, ours, state := table.New(nil), table.Initial, want.States[0]
		t.Repeat(map[string]func(*rapid.T){
			"event": func(t *rapid.T) {
				e := event.Draw(t, "event")
				next, result := table.Next(ours, e)
				wantNext, wantResult := want.Next(state, e.String())
				if words[result] != wantResult {
					t.Fatalf("%v in %v: %v, want %s", e, ours, result, wantResult)
				}
				if err := theirs.Event(context.Background(), e.String()); (err == nil) != (result == fsm.Moved) {
					t.Fatalf("%v in %v: %v, looplab says %v", e, ours, result, err)
				}
				ours, state = next, wantNext
			},
			"": func(t *rapid.T) {
				if ours.String() != state || theirs.Current() != state {
					t.Fatalf("the machine is in %v, looplab's in %s, the contract wants %s", ours, theirs.Current(), state)
				}
			},
		})
	}
}

// machines are the generated ones. The systems, which decide with them, are what
// the other properties of this package drive.
var machines = map[string]func(*rapid.T){
	"claim":     walk(looplab.Table[claim.State, claim.Event]{States: claim.AllStates(), Events: claim.AllEvents(), Initial: claim.Initial, Next: claim.Next}, model.Claim),
	"verdict":   walk(looplab.Table[verdict.State, verdict.Event]{States: verdict.AllStates(), Events: verdict.AllEvents(), Initial: verdict.Initial, Next: verdict.Next}, model.Verdict),
	"gate":      walk(looplab.Table[gate.State, gate.Event]{States: gate.AllStates(), Events: gate.AllEvents(), Initial: gate.Initial, Next: gate.Next}, model.Gate),
	"outcome":   walk(looplab.Table[outcome.State, outcome.Event]{States: outcome.AllStates(), Events: outcome.AllEvents(), Initial: outcome.Initial, Next: outcome.Next}, model.Outcome),
	"operation": walkOperation,
}

// actions are the model's words for what the table of operations says.
var actions = map[operation.Action]string{
	operation.ActionDuplicate: "duplicate", operation.ActionIgnore: "ignore", operation.ActionReject: "reject",
	operation.ActionConflict: "conflict", operation.ActionClosed: "closed", operation.ActionStale: "stale",
}

// walkOperation lets a backend say anything about one operation in any order,
// while its claim goes wherever that takes it.
func walkOperation(t *rapid.T) {
	var op model.Operation
	phase, state, active := operation.PhaseIdle, claim.Unpublished, true
	t.Repeat(map[string]func(*rapid.T){
		"status": func(t *rapid.T) {
			s := rapid.SampledFrom(operation.AllStatuses()).Draw(t, "status")
			decision := operation.Decide(s, state, phase, active)
			want := op.Backend(s.String(), state.String(), active)
			got := actions[decision.Action]
			switch decision.Action {
			case operation.ActionOffer:
				got = decision.Event.String()
			case operation.ActionAccept:
				got = map[bool]string{true: "permission", false: "noted"}[s == operation.StatusSubmitting]
			}
			if got != want {
				t.Fatalf("%v in %v, phase %v, active %v: %s, want %s", s, state, phase, active, got, want)
			}
			if decision.Phase.IsValid() {
				phase = decision.Phase
			}
			if decision.Event.IsValid() {
				state, _ = claim.Next(state, decision.Event)
			}
		},
		"claim": func(t *rapid.T) {
			e := rapid.SampledFrom([]claim.Event{claim.Publish, claim.Publish, claim.Publish, claim.Withdraw, claim.Fence, claim.Doubt}).Draw(t, "event")
			if state != claim.Unpublished || e != claim.Doubt {
				state, _ = claim.Next(state, e)
			}
		},
		"end": func(*rapid.T) { active = active && state == claim.Published && phase != operation.PhaseIdle },
	})
}

func TestMachines(t *testing.T) {
	for name, property := range machines {
		t.Run(name, rapid.MakeCheck(property))
	}
}

// Everything that the model names, the generated code names, and the other way
// round: no state, event or status is missing from a walk.
func TestNames(t *testing.T) {
	same := func(what string, got, want []string) {
		t.Helper()
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, the contract has %v", what, got, want)
		}
	}
	same("claim states", texts(claim.AllStates()), model.Claim.States)
	same("claim events", texts(claim.AllEvents()), model.Claim.Events)
	same("verdict states", texts(verdict.AllStates()), model.Verdict.States)
	same("gate states", texts(gate.AllStates()), model.Gate.States)
	same("gate events", texts(gate.AllEvents()), model.Gate.Events)
	same("outcome states", texts(outcome.AllStates()), model.Outcome.States)
	same("statuses", texts(operation.AllStatuses()), model.Statuses)
	for _, s := range claim.AllStates() {
		if s.Reusable() != model.Reusable(s.String()) || s.Live() != model.Live(s.String()) {
			t.Errorf("%v: reusable %v, live %v", s, s.Reusable(), s.Live())
		}
	}
	for word, event := range model.Evidence {
		for _, e := range report.AllEvidences() {
			if ownershipWord(e) == word && evidence.Decide(e).Event.String() != event {
				t.Errorf("%s offers %v, want %s", word, evidence.Decide(e).Event, event)
			}
		}
	}
}
