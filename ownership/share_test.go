// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

// shared is a registry in whose tables of 8 one peer may have 2.
func shared(t *testing.T) *harness {
	return newHarness(t, func(c *Config) { c.Tombstones, c.Requests = 8, 8 })
}

func (h *harness) cancels(n uint64, from Member) error {
	h.t.Helper()
	_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: sessionNamed(n, 1), Origin: FromPeer, From: from, FromSide: Receive})
	return h.did(effects, err)
}

func (h *harness) requests(n uint64, from Member) error {
	h.t.Helper()
	return h.did(h.reg.Requested(h.now, sessionNamed(n, 1), from))
}

func wantCapacity(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrCapacity) {
		t.Fatalf("%s: got %v, want capacity", what, err)
	}
}

// §7: one peer's cancels of requests that never come take no room of others, however
// many lives it has, and what it has left stays.
func TestShareOfTombstones(t *testing.T) {
	h := shared(t)
	enemy := h.member("enemy")
	for n := uint64(1); n <= 20; n++ {
		enemy.Incarnation = Incarnation{byte(n)}
		if err := h.cancels(n, enemy); n <= 2 {
			h.ok(nil, err)
		} else {
			wantCapacity(t, "a cancel beyond the share", err)
		}
	}
	if err := h.cancels(1, enemy); err != nil {
		t.Fatalf("of what has a tombstone: %v", err)
	}
	for n := uint64(101); n <= 104; n++ { // others have room, and so has the endpoint itself
		h.ok(nil, h.cancels(n, h.member(Accessor(rune('a'+n)))))
	}
	for n := uint64(201); n <= 202; n++ {
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: sessionNamed(n, 1)})
		h.ok(effects, err)
	}
	wantCapacity(t, "the table is full", h.cancels(300, h.member("late")))
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(2, 1), Side: Send}))
	if s, _ := h.reg.Session(sessionNamed(2, 1)); s.Outcome != outcome.Cancelled {
		t.Fatalf("what was cancelled ahead is %v", s.Outcome)
	}
	h.ok(h.reg.Watermark(h.now, "origin", 100)) // retires the enemy's
	h.ok(nil, h.cancels(301, enemy))
	h.ok(nil, h.cancels(302, enemy))
	wantCapacity(t, "its share is full again", h.cancels(303, enemy))
}

// What is refused to a peer is in its share as well.
func TestShareOfRefusals(t *testing.T) {
	h := shared(t)
	refuse := func(n uint64, peer Accessor) error {
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: sessionNamed(n, 1), Refused: peer})
		return h.did(effects, err)
	}
	h.ok(nil, refuse(1, "enemy"))
	h.ok(nil, h.cancels(2, h.member("enemy")))
	wantCapacity(t, "a refusal beyond the share", refuse(3, "enemy"))
	wantCapacity(t, "a cancel beyond the share", h.cancels(3, h.member("enemy")))
	h.ok(nil, refuse(2, "enemy"))
	h.ok(nil, refuse(3, "friend"))
	for _, bad := range []CancelSpec{{Refused: Local}, {Refused: "enemy", Origin: FromPeer}} {
		bad.Session = sessionNamed(9, 1)
		_, effects, err := h.reg.Cancel(h.now, bad)
		h.want(ErrInvalidArgument)(effects, err)
	}
}

// A fence of the creator's life gives the room of its tombstones back.
func TestShareOfTombstonesAfterAFence(t *testing.T) {
	h := shared(t)
	cancel := func(n uint64) error {
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: SessionName{RequestID{"a", n}, 1}, Origin: FromPeer, From: h.member("a"), FromSide: Receive})
		return h.did(effects, err)
	}
	h.ok(nil, cancel(1))
	h.ok(nil, cancel(2))
	wantCapacity(t, "beyond the share", cancel(3))
	h.ok(h.reg.Fence(h.now, FenceSpec{Accessor: "a", Scope: All}))
	h.ok(nil, cancel(3))
	h.ok(nil, cancel(4))
	wantCapacity(t, "beyond the share", cancel(5))
}

// §8: what a peer's former lives asked for makes room for what the present one asks
// for, and never for more than its share.
func TestShareOfKeptRequests(t *testing.T) {
	h := shared(t)
	enemy := h.member("enemy")
	for life := range byte(100) {
		enemy.Incarnation = Incarnation{3, life}
		for n := uint64(1); n <= 2; n++ {
			h.ok(nil, h.requests(n+uint64(life), enemy))
			h.ok(nil, h.requests(n+uint64(life), enemy)) // the same one
		}
		wantCapacity(t, "beyond the share", h.requests(1000, enemy))
	}
	if n := h.reg.Counters(); n.Requests != 2 || n.RequestsDropped != 100 {
		t.Fatalf("%d kept, %d dropped", n.Requests, n.RequestsDropped)
	}
	for n := uint64(1); n <= 6; n++ {
		h.ok(nil, h.requests(n, h.member(Accessor(rune('a'+n)))))
	}
	wantCapacity(t, "the table is full", h.requests(7, h.member("late")))
	enemy.Incarnation = Incarnation{4} // its own are dropped for its new life, nobody else's
	h.ok(nil, h.requests(8, enemy))
	h.ok(nil, h.requests(9, h.member("late")))
	wantCapacity(t, "the table is full", h.requests(10, h.member("later")))
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(3, 1), Side: Send}))
	h.ok(nil, h.requests(10, h.member("later")))
}

// A share of more than the table, or of nothing, is that of the configuration.
func TestShareConfig(t *testing.T) {
	for _, c := range []struct{ tombstones, peer, want int }{{1, 0, 1}, {3, 0, 1}, {400, 0, 100}, {4, 4, 4}, {4, 9, 4}} {
		h := newHarness(t, func(f *Config) { f.Tombstones, f.PeerTombstones = c.tombstones, c.peer })
		n := 0
		for h.cancels(uint64(n+1), h.member("a")) == nil {
			n++
		}
		if n != c.want {
			t.Errorf("%d of %d: one peer has %d, want %d", c.peer, c.tombstones, n, c.want)
		}
	}
	if _, err := New(Config{Name: "x", Incarnation: Incarnation{1}, Contain: func(Containment) error { return nil }, PeerRequests: -1}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a negative share: %v", err)
	}
}
