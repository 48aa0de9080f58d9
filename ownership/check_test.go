// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// checkInvariants recounts everything that the core keeps as a total or an
// index, and so finds a structure that went out of step with the decisions.
// What can be seen from outside is judged by Checker.
func checkInvariants(t testing.TB, r *Registry) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.core
	if len(c.touchedOwners)+len(c.touchedSessions)+len(c.log.pending) > 0 {
		t.Fatalf("a call left %d owners, %d sessions and %d effects unsettled", len(c.touchedOwners), len(c.touchedSessions), len(c.log.pending))
	}
	sessions := c.sessionsInOrder()
	unsettled, owners, timed := 0, 0, 0
	doubts := make(map[*peer]int)
	for _, s := range sessions {
		if err := recountSession(s, doubts); err != nil {
			t.Fatalf("session %v: %v", s.name, err)
		}
		for k := range s.members {
			m := &s.members[k]
			if _, waits := c.outbox.quiesced[quiescedKey{s.name, m.peer.accessor, m.peer.incarnation}]; m.quiet || m.rules.Waiting() && !waits {
				t.Fatalf("session %v: the SESSION_QUIESCED for %v does not wait", s.name, m.peer.member())
			}
		}
		unsettled += s.rules.Unsettled()
		owners += len(s.pieces)
		if s.place > 0 {
			timed++
			if c.deadlines[s.place-1] != s {
				t.Fatalf("session %v is not at its place among the deadlines", s.name)
			}
		}
		if err := c.checkDeadline(s); err != nil {
			t.Fatalf("session %v: %v", s.name, err)
		}
	}
	if unsettled != c.unsettledOwners || owners != c.admits.Owners() || timed != len(c.deadlines) || len(sessions) != c.admits.Sessions() {
		t.Fatalf("unsettled %d of %d, owners %d of %d, deadlines %d of %d, sessions %d of %d", c.unsettledOwners, unsettled,
			c.admits.Owners(), owners, len(c.deadlines), timed, c.admits.Sessions(), len(sessions))
	}
	checkPeers(t, c, doubts)
	checkTables(t, c)
}

func recountSession(s *session, doubts map[*peer]int) error {
	var open, succeeded, unsettled int
	members := make([]member, len(s.members))
	for _, o := range s.pieces {
		for i := range o.claims {
			cl, state := &o.claims[i], o.state(i)
			m := &members[cl.member]
			if state.Live() {
				m.live++
			}
			if state == claim.InDoubt {
				doubts[s.members[cl.member].peer]++
			}
			if !o.fenced(i) {
				m.unfenced++
			} else if state.Live() {
				return fmt.Errorf("claim %d of %s is fenced and live", i, o.name)
			}
			if o.gate() == gate.Publishing && i < o.size() {
				m.publishing++
			}
		}
		if o.gate() == gate.Open {
			open++
		}
		if o.outcome() == outcome.Succeeded {
			succeeded++
		}
		if !o.isSettled() {
			unsettled++
		}
		if o.settled != o.isSettled() || s.piece(o.name) != o || o.region.owners[o.slot] != o {
			return fmt.Errorf("piece %s: settled %v, or not found", o.name, o.settled)
		}
		if s.outcome().Terminal() && o.outcome() == outcome.Active {
			return fmt.Errorf("piece %s is ACTIVE in a %v session", o.name, s.outcome())
		}
	}
	for k := range members {
		got, want := s.members[k], members[k]
		if got.live != want.live || got.publishing != want.publishing || got.unfenced != want.unfenced {
			return fmt.Errorf("member %v is %+v, counted %+v", got.peer.member(), got, want)
		}
	}
	if open != s.rules.Open() || succeeded != s.rules.Succeeded() || unsettled != s.rules.Unsettled() || len(s.pieces) != s.rules.Owners() || s.clock.Settled() != (s.outcome().Terminal() && unsettled == 0) {
		return fmt.Errorf("open %d of %d, succeeded %d of %d, unsettled %d of %d, settled %v", s.rules.Open(), open, s.rules.Succeeded(), succeeded, s.rules.Unsettled(), unsettled, s.clock.Settled())
	}
	return nil
}

// checkDeadline: exactly the sessions with a running clock have a deadline.
func (c *core) checkDeadline(s *session) error {
	has := s.place > 0
	switch {
	case s.outcome() == outcome.Active:
		if has != s.clock.Armed() || has && s.deadline != s.clock.Expires() {
			return fmt.Errorf("ACTIVE, armed %v, deadline %v", s.clock.Armed(), has)
		}
	case s.clock.Settled() || c.fatal():
		if has {
			return fmt.Errorf("settled or FATAL, and a clock runs")
		}
	case !s.clock.Draining() || !has || s.deadline != s.clock.GraceEnds():
		return fmt.Errorf("not settled, draining %v, deadline %v", s.clock.Draining(), has)
	}
	return nil
}

func checkPeers(t testing.TB, c *core, doubts map[*peer]int) {
	t.Helper()
	known, lonely := 0, 0
	for a, list := range c.peers {
		for _, p := range list {
			known++
			if len(p.sessions) == 0 {
				lonely++
			}
			dead := 0
			for _, s := range p.sessions {
				if s == nil || s.rules.Closed() {
					dead++
				}
			}
			if p.accessor != a || p.doubts != doubts[p] || p.dead != dead || dead > 0 && len(p.sessions) == dead {
				t.Fatalf("peer %v of %s: doubts %d of %d, dead %d of %d, sessions %d", p.member(), a, p.doubts, doubts[p], p.dead, dead, len(p.sessions))
			}
			delete(doubts, p)
		}
	}
	if known != c.known || lonely != c.lonely {
		t.Fatalf("peers %d of %d, lonely %d of %d", c.known, known, c.lonely, lonely)
	}
	if len(doubts) > 0 {
		t.Fatalf("%d accessors in doubt cannot be found", len(doubts))
	}
}

func checkTables(t testing.TB, c *core) {
	t.Helper()
	tombstones, kept, waiting, quiesced := 0, 0, 0, 0
	for id, r := range c.requests {
		if r.tombstone != nil {
			tombstones++
		}
		if r.tombstone == nil && len(r.attempts) == 0 {
			t.Fatalf("request %v is remembered for nothing", id)
		}
	}
	for _, list := range c.kept.byRequest {
		kept += len(list)
	}
	for a, q := range c.outbox.queues {
		var last *node
		for n := q.first; n != nil; n = n.next {
			if n.prev != last || n.out.To.Accessor != a || last != nil && n.out.Number <= last.out.Number {
				t.Fatalf("outbox of %s is out of order at %v", a, n.out)
			}
			if _, ok := n.out.Message.(*SessionQuiesced); ok {
				quiesced++
			}
			waiting++
			last = n
		}
		if q.last != last || last == nil {
			t.Fatalf("outbox of %s has no end", a)
		}
	}
	if tombstones != c.admits.Tombstones() || kept != c.kept.n || waiting != c.outbox.waiting || quiesced != len(c.outbox.quiesced) {
		t.Fatalf("tombstones %d of %d, kept %d of %d, waiting %d of %d, quiesced %d of %d", c.admits.Tombstones(), tombstones,
			c.kept.n, kept, c.outbox.waiting, waiting, len(c.outbox.quiesced), quiesced)
	}
}
