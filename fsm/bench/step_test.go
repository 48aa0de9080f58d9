// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/fsm/looplab"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
)

// walk is one life of a claim that ends where it could be disputed; each step of
// it is a move, so that a step costs the same in every library.
var walk = []claim.Event{claim.Publish, claim.DoneOK, claim.Doubt, claim.Settle}

var (
	sinkState  claim.State
	sinkResult fsm.Result
	sinkError  error

	sinkDecision operation.Decision
)

// nestedSwitch is the hand-written form of the claim: what a careful author writes.
//
//go:noinline
func nestedSwitch(s claim.State, e claim.Event) (claim.State, fsm.Result) {
	switch s {
	case claim.Unpublished:
		switch e {
		case claim.Publish:
			return claim.Published, fsm.Moved
		case claim.Withdraw, claim.Unexposed, claim.Fence:
			return claim.SafeUnpublished, fsm.Moved
		case claim.Acked:
			return s, fsm.Ignored
		case claim.DoneOK, claim.DoneFailed, claim.Doubt, claim.Settle:
			return s, fsm.Conflict
		}
	case claim.SafeUnpublished:
		switch e {
		case claim.Withdraw, claim.Unexposed, claim.Fence:
			return s, fsm.Duplicate
		case claim.Acked:
			return s, fsm.Ignored
		case claim.DoneOK, claim.DoneFailed, claim.Doubt, claim.Settle:
			return s, fsm.Conflict
		}
	case claim.Published:
		switch e {
		case claim.Publish:
			return s, fsm.Duplicate
		case claim.Unexposed:
			return claim.SafeUnpublished, fsm.Moved
		case claim.DoneOK, claim.DoneFailed:
			return claim.Drained, fsm.Moved
		case claim.Doubt:
			return claim.InDoubt, fsm.Moved
		case claim.Settle:
			return s, fsm.Conflict
		case claim.Acked, claim.Fence:
			return claim.FailedQuiesced, fsm.Moved
		}
	case claim.InDoubt:
		switch e {
		case claim.Unexposed, claim.DoneOK:
			return s, fsm.Conflict
		case claim.DoneFailed, claim.Acked:
			return s, fsm.Ignored
		case claim.Doubt:
			return s, fsm.Duplicate
		case claim.Settle, claim.Fence:
			return claim.FailedQuiesced, fsm.Moved
		}
	case claim.FailedQuiesced:
		switch e {
		case claim.Unexposed, claim.DoneOK:
			return s, fsm.Conflict
		case claim.DoneFailed, claim.Doubt:
			return s, fsm.Ignored
		case claim.Settle, claim.Acked, claim.Fence:
			return s, fsm.Duplicate
		}
	case claim.Drained:
		switch e {
		case claim.Unexposed, claim.Settle:
			return s, fsm.Conflict
		case claim.DoneOK, claim.DoneFailed:
			return s, fsm.Duplicate
		case claim.Doubt:
			return claim.InDoubt, fsm.Moved
		case claim.Acked, claim.Fence:
			return s, fsm.Ignored
		}
	}
	return s, fsm.Rejected
}

// generatedCall keeps the generated step from being inlined, like the switch.
//
//go:noinline
func generatedCall(s claim.State, e claim.Event) (claim.State, fsm.Result) { return claim.Next(s, e) }

// TestSwitchAgrees: the rows compare the same machine.
func TestSwitchAgrees(t *testing.T) {
	for s := range 256 {
		for e := range 256 {
			st, ev := claim.State(s), claim.Event(e)
			wantS, wantR := claim.Next(st, ev)
			if gotS, gotR := nestedSwitch(st, ev); gotS != wantS || gotR != wantR {
				t.Fatalf("%v %v: switch gives %v %v, the spec %v %v", st, ev, gotS, gotR, wantS, wantR)
			}
		}
	}
}

// BenchmarkStep: one accepted event. A quarter of a reset is inside each row.
func BenchmarkStep(b *testing.B) {
	plain := func(next func(claim.State, claim.Event) (claim.State, fsm.Result)) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			s, i := claim.Initial, 0
			for b.Loop() {
				s, sinkResult = next(s, walk[i])
				if i++; i == len(walk) {
					s, i = claim.Initial, 0
				}
			}
			sinkState = s
		}
	}
	b.Run("by=generated", plain(generatedCall))
	b.Run("by=switch", plain(nestedSwitch))
	b.Run("by=generated-inlined", func(b *testing.B) {
		b.ReportAllocs()
		s, i := claim.Initial, 0
		for b.Loop() {
			s, sinkResult = claim.Next(s, walk[i])
			if i++; i == len(walk) {
				s, i = claim.Initial, 0
			}
		}
		sinkState = s
	})
	b.Run("by=generated-atomic", func(b *testing.B) {
		b.ReportAllocs()
		m, i := new(claim.Machine), 0
		for b.Loop() {
			_, sinkResult = m.Offer(walk[i])
			if i++; i == len(walk) {
				m, i = new(claim.Machine), 0
			}
		}
		sinkState = m.State()
	})
	b.Run("by=generated-mutex", func(b *testing.B) {
		b.ReportAllocs()
		m, i := new(claim.MutexMachine), 0
		for b.Loop() {
			_, sinkResult = m.Offer(walk[i])
			if i++; i == len(walk) {
				m, i = new(claim.MutexMachine), 0
			}
		}
		sinkState = m.State()
	})
	b.Run("by=looplab", func(b *testing.B) {
		b.ReportAllocs()
		m, i, ctx := table.New(nil), 0, context.Background()
		for b.Loop() {
			sinkError = m.Event(ctx, walk[i].String())
			if i++; i == len(walk) {
				m.SetState(claim.Initial.String())
				i = 0
			}
		}
	})
}

var table = looplab.Table[claim.State, claim.Event]{
	States: claim.AllStates(), Events: claim.AllEvents(), Initial: claim.Initial, Next: claim.Next}

// BenchmarkRefusal: an event that the state rejects, with its typed error.
func BenchmarkRefusal(b *testing.B) {
	b.Run("by=generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, sinkResult = claim.Next(claim.InDoubt, claim.Publish); sinkResult.Refused() {
				sinkError = claim.Refusal(claim.InDoubt, claim.Publish)
			}
		}
	})
	b.Run("by=looplab", func(b *testing.B) {
		b.ReportAllocs()
		m, ctx := table.New(nil), context.Background()
		for b.Loop() {
			sinkError = m.Event(ctx, "settle")
		}
	})
}

// BenchmarkDuplicate: an event that is already so.
func BenchmarkDuplicate(b *testing.B) {
	b.Run("by=generated-atomic", func(b *testing.B) {
		b.ReportAllocs()
		var m claim.Machine
		m.Offer(claim.Publish)
		for b.Loop() {
			_, sinkResult = m.Offer(claim.Publish)
		}
	})
}

// BenchmarkMixed: a stream without a pattern over many machines, most of it refused.
func BenchmarkMixed(b *testing.B) {
	random := rand.New(rand.NewPCG(7, 7))
	events := make([]claim.Event, 1<<14)
	for i := range events {
		events[i] = claim.Event(1 + random.IntN(9))
	}
	run := func(next func(claim.State, claim.Event) (claim.State, fsm.Result)) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			states := make([]claim.State, 4096)
			for i := range states {
				states[i] = claim.AllStates()[i%6]
			}
			i := 0
			for b.Loop() {
				_, sinkResult = next(states[i&4095], events[i&(1<<14-1)])
				i++
			}
		}
	}
	b.Run("by=generated", run(generatedCall))
	b.Run("by=switch", run(nestedSwitch))
}

// BenchmarkContended: goroutines that offer to one machine all the time. After the
// first few offers none moves, so this is the price of being told so.
func BenchmarkContended(b *testing.B) {
	b.Run("by=generated-atomic", func(b *testing.B) {
		var m claim.Machine
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				m.Offer(walk[i%len(walk)])
			}
		})
	})
	b.Run("by=generated-mutex", func(b *testing.B) {
		var m claim.MutexMachine
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				m.Offer(walk[i%len(walk)])
			}
		})
	})
}

// BenchmarkDecide: one answer of the operation table.
func BenchmarkDecide(b *testing.B) {
	b.ReportAllocs()
	statuses, i := operation.AllStatuses(), 0
	for b.Loop() {
		sinkDecision = operation.Decide(statuses[i], claim.Published, operation.PhaseSubmitted, true)
		if i++; i == len(statuses) {
			i = 0
		}
	}
}
