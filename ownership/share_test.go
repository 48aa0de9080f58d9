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

// §7, §8: a peer that reads nothing takes no room in the outbox from others: what would
// have to be answered is not taken in beyond its share, nor are pieces that name it.
func TestShareOfTheOutbox(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Outbox = 8 })
	h.ok(h.reg.Watermark(h.now, "origin", 100)) // all below is answered, and leaves no tombstone
	enemy := h.member("enemy")
	h.ok(nil, h.cancels(1, enemy))  // a SESSION_QUIESCED
	h.ok(nil, h.requests(2, enemy)) // a CANCEL_SESSION too: what is begun is not cut in half
	wantCapacity(t, "a cancel beyond the share", h.cancels(3, enemy))
	wantCapacity(t, "a request beyond the share", h.requests(3, enemy))
	h.ok(nil, h.cancels(1, enemy)) // what waits answers this one too
	h.ok(nil, h.requests(1, enemy))
	later := enemy
	later.Incarnation = Incarnation{77}
	wantCapacity(t, "another life of it", h.cancels(1, later))
	_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: sessionNamed(4, 1), Origin: FromPeer, From: enemy, FromSide: Send})
	h.ok(effects, err) // a sender's is not answered
	_, effects, err = h.reg.Cancel(h.now, CancelSpec{Session: sessionNamed(4, 1)})
	h.ok(effects, err) // nor is our own

	if n := h.reg.Counters(); n.Outbox != 3 || n.RequestsDropped != 1 {
		t.Fatalf("%d wait, %d dropped", n.Outbox, n.RequestsDropped)
	}
	friend := h.open(200, Receive, "friend") // a session and a piece: there is room
	piece := PieceSpec{Name: PieceName{sessionNamed(201, 1), "kv"}, Region: "R201", Cohort: h.cohort(Receive, "friend", "enemy")}
	if err := h.reg.AddRegion(RegionSpec{ID: "R201"}); err != nil {
		t.Fatal(err)
	}
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: piece.Name.Session, Side: Receive}))
	_, effects, err = h.reg.AddPiece(h.now, piece)
	h.want(ErrCapacity)(effects, err)
	_, effects, err = h.reg.AddPieces(h.now, piece)
	h.want(ErrCapacity)(effects, err)
	h.ok(nil, h.cancels(5, h.member("friend")))
	h.deliver("enemy")
	_, effects, err = h.reg.AddPiece(h.now, piece)
	h.ok(effects, err)
	h.ok(nil, h.cancels(6, enemy))
	h.publish(friend)
}

// What is owed for pieces that were admitted before waits whatever the share, and is in
// nobody else's room: it can be more than the whole table.
func TestOutboxBeyondTheShare(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Outbox, c.PeerOutbox = 4, 2 })
	var pieces []PieceName
	for n := range uint64(6) {
		pieces = append(pieces, h.open(200+n, Receive, "enemy"))
	}
	for _, p := range pieces {
		h.publish(p)
	}
	for _, p := range pieces { // a CANCEL_SESSION each
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: p.Session})
		h.ok(effects, err)
	}
	if n := h.reg.Counters(); n.Outbox != 6 {
		t.Fatalf("%d wait", n.Outbox)
	}
	h.ok(h.reg.Watermark(h.now, "origin", 100))
	h.ok(nil, h.cancels(1, h.member("friend")))
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(300, 1), Side: Receive}))
	h.ok(nil, h.cancels(2, h.member("friend")))
	h.want(ErrCapacity)(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(301, 1), Side: Receive})) // both shares are full
	leave := func() {
		m, _ := h.reg.Peek("enemy")
		h.reg.Delivered("enemy", m.Number)
	}
	for range 4 {
		leave()
		h.want(ErrCapacity)(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(301, 1), Side: Receive}))
	}
	leave()
	h.ok(h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(301, 1), Side: Receive}))
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
