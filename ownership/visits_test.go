// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"math/rand/v2"
	"slices"
	"testing"

	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// visited is a peer with sessions that it visits, and what a look at all of them says.
type visited struct {
	peer
	open []*session
}

func (v *visited) visit(n int) {
	for range n {
		rules, _ := sessionrules.New()
		s := &session{rules: rules}
		v.visits = append(v.visits, s)
		v.open = append(v.open, s)
	}
}

// close closes one of the sessions that are open.
func (v *visited) close(t *testing.T, i int) {
	t.Helper()
	s := v.open[i]
	v.open = slices.Delete(v.open, i, i+1)
	s.rules.Cancel(trigger.OriginLocal, nil)
	if _, err := s.rules.Close(false, nil); err != nil {
		t.Fatal(err)
	}
	v.leave()
	v.check(t)
}

// check wants each open session once, and all else counted as dead.
func (v *visited) check(t *testing.T) {
	t.Helper()
	var there []*session
	for _, s := range v.visits {
		if s != nil && !s.rules.Closed() {
			there = append(there, s)
		}
	}
	if !slices.Equal(there, v.open) || v.dead != len(v.visits)-len(there) {
		t.Fatalf("%d are open, %d are there; %d of %d are dead", len(v.open), len(there), v.dead, len(v.visits))
	}
}

// TestVisitsAreForgottenInAnyOrder: whoever leaves, the others are found, and the list
// is never much longer than what is open.
func TestVisitsAreForgottenInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var v visited
	for round := range 40 {
		v.visit(1 + rng.IntN(60))
		for rng.IntN(30) > 0 && len(v.open) > 0 {
			v.close(t, rng.IntN(len(v.open)))
		}
		if round%10 == 9 {
			for len(v.open) > 0 {
				v.close(t, len(v.open)-1)
			}
			if len(v.visits) != 0 || v.dead != 0 {
				t.Fatalf("nothing is open: %d of %d are dead", v.dead, len(v.visits))
			}
		}
	}
}

// TestVisitsAreCompactedBitByBit: a list stays as it is until half of it is dead; then
// each that leaves pays for four places, until all were looked at.
func TestVisitsAreCompactedBitByBit(t *testing.T) {
	const n = 400
	var v visited
	v.visit(n)
	for left := 1; left < n/2; left++ {
		if v.close(t, 0); v.seen != 0 || len(v.visits) != n {
			t.Fatalf("%d of %d have left, and %d places were looked at", left, n, v.seen)
		}
	}
	steps := 0
	for ; len(v.visits) == n; steps++ {
		if v.close(t, len(v.open)-1); len(v.visits) == n && v.seen != sweepSteps*(steps+1) {
			t.Fatalf("the %dth that left has looked at %d places in all", steps+1, v.seen)
		}
	}
	if steps != n/sweepSteps {
		t.Errorf("the compaction took %d leavings, want %d", steps, n/sweepSteps)
	}
	for len(v.open) > 0 {
		v.close(t, len(v.open)/2)
	}
}

// TestVisitsWhileCompacting: who comes in the middle of a compaction is found after it.
func TestVisitsWhileCompacting(t *testing.T) {
	var v visited
	v.visit(100)
	for range 51 {
		v.close(t, 0)
	}
	if v.seen == 0 {
		t.Fatal("no compaction is under way")
	}
	v.visit(200) // less than half is dead now, and it goes on all the same
	v.check(t)
	for range 100 {
		v.close(t, 0)
	}
	if v.visit(1); len(v.visits) > 2*len(v.open)+1 {
		t.Errorf("%d places for %d that are open", len(v.visits), len(v.open))
	}
}
