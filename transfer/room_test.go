// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// TestWhatIsKept: a request is kept once, while there is room in all and in the peer's
// share; none under the name of a session in which its peer asks for nothing, unless that is
// not admitted yet, and none for a piece that was answered.
func TestWhatIsKept(t *testing.T) {
	type said struct{ fresh, room, foreign bool }
	fresh, again, full, foreign := said{true, true, false}, said{false, true, false}, said{}, said{false, true, true}
	synctest.Test(t, func(t *testing.T) {
		e := host(t, func(c *Config) { c.Requests, c.PeerRequests = 4, 3 })
		defer e.Halt()
		member := func(peer ownership.Accessor) ownership.Member {
			return ownership.Member{Accessor: peer, Incarnation: ownership.Incarnation{1}}
		}
		session := func(n uint64, side ownership.Side, with ownership.Accessor, admitted bool) {
			s := &Session{
				endpoint: e, name: of("x", n), side: side, admitted: admitted, direction: backend.Write, members: []ownership.Member{member(with)},
				jobs: map[string]*job{"answered": {}}, answer: Answer{Outcome: outcome.Active},
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.sessions[s.name] = s
		}
		session(91, ownership.Receive, "a", true)
		session(92, ownership.Send, "b", true)
		session(93, ownership.Send, "a", true)
		session(94, ownership.Receive, "b", false)
		request := func(peer ownership.Accessor, n uint64, piece string) *Request {
			return &Request{endpoint: e, from: member(peer), piece: ownership.PieceName{Session: of("x", n), Piece: piece}, withdrawn: make(chan struct{})}
		}
		first := request("a", 1, "kv")
		for i, test := range []struct {
			r    *Request
			want said
			kept int
		}{
			{first, fresh, 1}, {request("a", 1, "kv"), again, 1}, {request("a", 1, "more"), fresh, 2},
			{request("a", 91, "kv"), foreign, 2}, {request("a", 92, "answered"), foreign, 2}, {request("a", 93, "answered"), again, 2},
			{request("a", 93, "kv"), fresh, 3}, {request("a", 2, "kv"), full, 3}, {request("b", 94, "kv"), fresh, 4},
			{request("b", 2, "kv"), full, 4}, {request("c", 1, "kv"), full, 4}, {request("b", 94, "kv"), again, 4},
		} {
			var got said
			got.fresh, got.room, got.foreign = e.keep(test.r)
			if got != test.want || e.requests.n != test.kept {
				t.Errorf("step %d: %+v, want %+v; %d are kept, want %d", i, got, test.want, e.requests.n, test.kept)
			}
		}
		e.answered(first)
		e.answered(first) // again is fine
		if e.requests.byPeer["a"] != 2 || e.requests.n != 3 || e.waits(first) {
			t.Errorf("%v are kept, %d in all", e.requests.byPeer, e.requests.n)
		}
		e.withdraw(func(*Request) bool { return true })
		if len(e.requests.byPeer)+len(e.requests.byName)+e.requests.n != 0 {
			t.Errorf("%+v is left", e.requests)
		}
		clear(e.sessions)
	})
}
