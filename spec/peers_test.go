// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/spec"
)

// The tests below pin what other libraries of state machines get wrong. What they
// get wrong when they read a description is refused by package load (its corpus
// has move_to_self, unknown_target, repeated_cell and unknown_event).

// TestSingleWinner: of goroutines that offer single-use events at once, exactly one
// moves the machine, and each gets the verdict of its own event.
func TestSingleWinner(t *testing.T) {
	const rounds = 1000
	for range rounds {
		race(t, new(outcome.Machine))
		race(t, new(outcome.MutexMachine))
	}
}

// race lets four goroutines end one outcome.
func race(t *testing.T, m interface {
	Offer(outcome.Event) (outcome.State, fsm.Result)
	State() outcome.State
}) {
	const racers = 4
	var moved, ignored atomic.Int32
	var start, done sync.WaitGroup
	start.Add(1)
	var winner atomic.Uint32
	for i := range racers {
		ev := outcome.AllEvents()[i%3]
		done.Go(func() {
			start.Wait()
			switch s, res := m.Offer(ev); res {
			case fsm.Moved:
				moved.Add(1)
				winner.Store(uint32(s))
			case fsm.Ignored:
				ignored.Add(1)
			default:
				t.Errorf("%v gave %v", ev, res)
			}
		})
	}
	start.Done()
	done.Wait()
	if moved.Load() != 1 || ignored.Load() != racers-1 || uint32(m.State()) != winner.Load() {
		t.Fatalf("%T: %d moved, %d ignored, state %v, winner went to %v", m, moved.Load(), ignored.Load(), m.State(), outcome.State(winner.Load()))
	}
}

// TestOwnVerdict: a refused offer and a legal one race; the refusal never reaches
// the legal one, and nothing stays behind for the next offer.
func TestOwnVerdict(t *testing.T) {
	for range 2000 {
		m, err := claim.Restore(claim.Published)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, res := m.Offer(claim.Doubt); res != fsm.Moved {
				t.Errorf("doubt gave %v", res)
			}
		})
		wg.Go(func() {
			if _, res := m.Offer(claim.Withdraw); res != fsm.Rejected {
				t.Errorf("withdraw gave %v", res)
			}
		})
		wg.Wait()
		if s, res := m.Offer(claim.Doubt); s != claim.InDoubt || res != fsm.Duplicate {
			t.Fatalf("the next offer gave %v %v", s, res)
		}
	}
}

// TestVerdictsDiffer: a move, a duplicate, an ignored event and both refusals are
// told apart, and a duplicate is no error.
func TestVerdictsDiffer(t *testing.T) {
	for _, tc := range []struct {
		event claim.Event
		want  fsm.Result
		err   bool
	}{
		{claim.Fence, fsm.Moved, false},
		{claim.Doubt, fsm.Duplicate, false},
		{claim.Acked, fsm.Ignored, false},
		{claim.Publish, fsm.Rejected, true},
		{claim.DoneOK, fsm.Conflict, true},
	} {
		_, res := claim.Next(claim.InDoubt, tc.event)
		if res != tc.want || res.Refused() != tc.err || (claim.Refusal(claim.InDoubt, tc.event) != nil) != tc.err {
			t.Errorf("%v: got %v with error %v", tc.event, res, claim.Refusal(claim.InDoubt, tc.event))
		}
	}
}

// TestNoBackDoor: a terminal state is never left, whatever is offered, and no
// state outside the spec can be restored.
func TestNoBackDoor(t *testing.T) {
	for _, s := range outcome.AllStates() {
		for e := range 256 {
			if next, _ := outcome.Next(s, outcome.Event(e)); s.IsFinal() && next != s {
				t.Errorf("%v left %v for %v", outcome.Event(e), s, next)
			}
		}
	}
	for s := range 256 {
		if m, err := outcome.Restore(outcome.State(s)); (err == nil) != outcome.State(s).IsValid() || (m == nil) != (err != nil) {
			t.Errorf("Restore(%d) gave %v, %v", s, m, err)
		}
	}
}

// TestSmall: a machine is its state: one byte, or four where goroutines share it, and
// there is nothing to construct.
func TestSmall(t *testing.T) {
	var m claim.Machine
	if a, b := unsafe.Sizeof(claim.Initial), unsafe.Sizeof(m); a != 1 || b != 4 {
		t.Errorf("a state takes %d bytes, a machine %d", a, b)
	}
	if n := testing.AllocsPerRun(100, func() {
		var owner struct{ m claim.Machine }
		owner.m.Offer(claim.Publish)
	}); n != 0 {
		t.Errorf("a machine in a struct allocates %v times", n)
	}
}

// TestHash: generated code tells which spec it came from.
func TestHash(t *testing.T) {
	for name, hash := range map[string]string{"claim": claim.SpecSHA256, "outcome": outcome.SpecSHA256, "receive": receive.SpecSHA256} {
		data, err := spec.Files.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); hash != want {
			t.Errorf("%s came from %s, the spec is %s", name, hash, want)
		}
	}
}
