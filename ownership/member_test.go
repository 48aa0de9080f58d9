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
	next := uint64(0)
	join := func() {
		next++
		owned = append(owned, h.open(next, Receive, "a"))
		h.publish(owned[len(owned)-1])
	}
	leave := func() {
		i := rng.IntN(len(owned))
		p := owned[i]
		owned[i] = owned[len(owned)-1]
		owned = owned[:len(owned)-1]
		h.ok(h.report(p, "a", Failed))
		h.ok(h.reg.Close(h.now, p.Session))
	}
	const many = 200
	for range many {
		join()
	}
	swept, p := false, h.reg.core.knownPeer("a", h.member("a").Incarnation)
	for i := range many * 3 / 4 {
		leave()
		if i%8 == 0 {
			join()
		}
		if !swept && p.seen > many/4 {
			swept = true
			h.ok(h.reg.Fence(h.now, FenceSpec{Accessor: "a", Scope: Passive}))
			for _, q := range owned {
				h.wantClaims(q, claim.FailedQuiesced)
			}
			for _, q := range owned {
				h.ok(h.reg.Close(h.now, q.Session))
			}
			break
		}
	}
	if n := h.reg.Counters(); !swept || n.Owners != 0 || len(p.sessions) != 0 {
		t.Fatalf("swept %v, %d places left, %+v", swept, len(p.sessions), n)
	}
}
