// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package looplab_test

import (
	"context"
	"errors"
	"testing"

	"github.com/looplab/fsm"
	"pgregory.net/rapid"

	runtime "github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/looplab"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// TestWalksAgree: whatever events come in whatever order, the generated machine
// and looplab's are in the same state after each.
func TestWalksAgree(t *testing.T) {
	t.Run("claim", agrees(looplab.Table[claim.State, claim.Event]{
		States: claim.AllStates(), Events: claim.AllEvents(), Initial: claim.Initial, Next: claim.Next}))
	t.Run("verdict", agrees(looplab.Table[verdict.State, verdict.Event]{
		States: verdict.AllStates(), Events: verdict.AllEvents(), Initial: verdict.Initial, Next: verdict.Next}))
	t.Run("outcome", agrees(looplab.Table[outcome.State, outcome.Event]{
		States: outcome.AllStates(), Events: outcome.AllEvents(), Initial: outcome.Initial, Next: outcome.Next}))
	t.Run("gate", agrees(looplab.Table[gate.State, gate.Event]{
		States: gate.AllStates(), Events: gate.AllEvents(), Initial: gate.Initial, Next: gate.Next}))
}

func agrees[S, E looplab.Code](table looplab.Table[S, E]) func(*testing.T) {
	return func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			theirs, ours := table.New(nil), table.Initial
			for _, e := range rapid.SliceOfN(rapid.SampledFrom(table.Events), 1, 60).Draw(t, "events") {
				can := theirs.Can(e.String())
				err := theirs.Event(context.Background(), e.String())
				next, res := table.Next(ours, e)
				if can != (res == runtime.Moved) || can != (err == nil) {
					t.Fatalf("%v in %v: ours %v, theirs can=%v, err=%v", e, ours, res, can, err)
				}
				if next.String() != theirs.Current() {
					t.Fatalf("%v in %v: ours goes to %v, theirs to %v", e, ours, next, theirs.Current())
				}
				ours = next
			}
		})
	}
}

// TestMoves: the bridge passes every move on, each once: looplab itself would let
// the later of two moves for one state and event win without a word.
func TestMoves(t *testing.T) {
	table := looplab.Table[claim.State, claim.Event]{
		States: claim.AllStates(), Events: claim.AllEvents(), Initial: claim.Initial, Next: claim.Next}
	seen := map[string]string{}
	for _, d := range table.Moves() {
		for _, src := range d.Src {
			key := src + " " + d.Name
			if other, dup := seen[key]; dup {
				t.Errorf("%s goes to %s and to %s", key, other, d.Dst)
			}
			seen[key] = d.Dst
		}
	}
	moves := 0
	for _, s := range table.States {
		for _, e := range table.Events {
			if to, res := claim.Next(s, e); res == runtime.Moved {
				moves++
				if seen[s.String()+" "+e.String()] != to.String() {
					t.Errorf("%v %v goes to %v, the bridge says %q", s, e, to, seen[s.String()+" "+e.String()])
				}
			}
		}
	}
	if moves != len(seen) {
		t.Errorf("%d moves, %d in the bridge", moves, len(seen))
	}
}

// TestCallbacks: the user's callbacks run, and may refuse.
func TestCallbacks(t *testing.T) {
	refusal := errors.New("not now")
	table := looplab.Table[gate.State, gate.Event]{
		States: gate.AllStates(), Events: gate.AllEvents(), Initial: gate.Initial, Next: gate.Next}
	m := table.New(fsm.Callbacks{"before_seal": func(_ context.Context, e *fsm.Event) { e.Cancel(refusal) }})
	if err := m.Event(context.Background(), "seal"); !errors.Is(err, refusal) || m.Current() != "OPEN" {
		t.Errorf("seal: %v, state %s", err, m.Current())
	}
}
