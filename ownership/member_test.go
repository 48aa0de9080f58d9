// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"math/rand/v2"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// TestPeerOfManySessions closes the sessions of one peer in any order while
// others join, and wants a fence in the middle of it to reach each that is left.
func TestPeerOfManySessions(t *testing.T) {
	h := newHarness(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var owned []PieceName
	for n := range uint64(300) {
		owned = append(owned, h.open(n+1, Receive, "a"))
		h.publish(owned[len(owned)-1])
		if n%3 > 0 && n > 100 {
			p := takeAny(rng, &owned)
			h.ok(h.report(p, "a", Failed))
			h.ok(h.reg.Close(h.now, p.Session))
		}
	}
	h.ok(h.reg.Fence(h.now, FenceSpec{Accessor: "a", Scope: Passive}))
	for _, p := range owned {
		h.wantClaims(p, claim.FailedQuiesced)
		h.ok(h.reg.Close(h.now, p.Session))
	}
	if n := h.reg.Counters(); n.Owners != 0 {
		t.Fatalf("%+v", n)
	}
}

// TestPeerThatVisitsManySessions has a peer ask for data of sessions that have no
// piece. They close in any order while others come; a fence in the middle forgets
// what was asked for in each that is left.
func TestPeerThatVisitsManySessions(t *testing.T) {
	h := newHarness(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var owned []SessionName
	next := uint64(0)
	visit := func() {
		next++
		s := sessionNamed(next, 1)
		h.ok(h.reg.Admit(h.now, SessionSpec{Name: s, Side: Send}))
		h.ok(h.reg.Requested(h.now, s, h.member("a")))
		owned = append(owned, s)
	}
	end := func(s SessionName) {
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: s})
		h.ok(effects, err)
		h.ok(h.reg.Close(h.now, s))
	}
	const many = 200
	for range many {
		visit()
	}
	p := h.reg.core.knownPeer("a", h.member("a").Incarnation)
	for p.seen <= many/4 { // until a compaction is under way
		end(takeAny(rng, &owned))
	}
	told := len(h.reg.Waiting("a"))
	h.ok(h.reg.Fence(h.now, FenceSpec{Accessor: "a", Scope: Own}))
	if left := len(h.reg.Waiting("a")); told == 0 || left != 0 {
		t.Fatalf("%d messages before the fence, %d after it", told, left)
	}
	for len(owned) > 0 {
		end(takeAny(rng, &owned))
	}
	if left := len(h.reg.Waiting("a")); left != 0 || h.reg.core.knownPeer("a", p.incarnation) != nil {
		t.Fatalf("%d messages for a fenced peer, its record stays: %v", left, h.reg.core.peers)
	}
}

// TestIdleCohortsAreForgotten goes through more cohorts than are remembered.
func TestIdleCohortsAreForgotten(t *testing.T) {
	h := newHarness(t)
	busy := h.open(1, Receive, "a", "b0")
	for n := range uint64(3 * maxIdle) {
		p := h.open(n+2, Receive, "a", Accessor("b"+string(rune('0'+n))))
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: p.Session})
		h.ok(effects, err)
		h.ok(h.reg.Close(h.now, p.Session))
	}
	if n := len(h.reg.core.cohorts.byKey); n > maxIdle+1 {
		t.Fatalf("%d cohorts are remembered", n)
	}
	h.publish(busy)
	h.ok(h.report(busy, "a", OK))
}

// TestCohortMayNotNameLocal has a list that looks like a known cohort with a scatter.
func TestCohortMayNotNameLocal(t *testing.T) {
	h := newHarness(t)
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(1, 1), Side: Receive}))
	h.piece(PieceSpec{Name: PieceName{sessionNamed(1, 1), "p"}, Cohort: h.cohort(Receive, "a"), Local: true})
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(2, 1), Side: Receive}))
	if err := h.reg.AddRegion(RegionSpec{ID: "R"}); err != nil {
		t.Fatal(err)
	}
	_, effects, err := h.reg.AddPiece(h.now, PieceSpec{
		Name: PieceName{sessionNamed(2, 1), "p"}, Region: "R",
		Cohort: append(h.cohort(Receive, "a"), Member{Accessor: Local, Incarnation: Incarnation{1}}),
	})
	h.want(ErrInvalidArgument)(effects, err)
}

func takeAny[T any](rng *rand.Rand, list *[]T) T {
	i, last := rng.IntN(len(*list)), len(*list)-1
	x := (*list)[i]
	(*list)[i] = (*list)[last]
	*list = (*list)[:last]
	return x
}
