// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"maps"
	"slices"
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
	if len(c.touchedOwners)+len(c.touchedSessions)+c.log.pending > 0 {
		t.Fatalf("a call left %d owners, %d sessions and %d effects unsettled", len(c.touchedOwners), len(c.touchedSessions), c.log.pending)
	}
	sessions := c.sessionsInOrder()
	unsettled, owners, timed := 0, 0, 0
	doubts := make(map[*peer]int)
	for _, s := range sessions {
		if err := recountSession(s, doubts); err != nil {
			t.Fatalf("session %v: %v", s.name(), err)
		}
		members := s.members()
		for k := range members {
			m := &members[k]
			if _, waits := c.outbox.quiesced[quiescedKey{s.name(), m.peer.accessor, m.peer.incarnation}]; m.quiet || m.rules.Waiting() && !waits {
				t.Fatalf("session %v: the SESSION_QUIESCED for %v does not wait", s.name(), m.peer.member())
			}
		}
		unsettled += s.rules.Unsettled()
		owners += len(s.pieces())
		if s.place > 0 {
			timed++
			if c.deadlines[s.place-1] != s {
				t.Fatalf("session %v is not at its place among the deadlines", s.name())
			}
		}
		if err := c.checkDeadline(s); err != nil {
			t.Fatalf("session %v: %v", s.name(), err)
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
	members := make(map[*peer]*member)
	for _, o := range s.pieces() {
		for i := range o.total() {
			state, p := o.state(i), o.peer(i)
			if members[p] == nil {
				members[p] = &member{}
			}
			m := members[p]
			if state.Live() {
				m.live++
			}
			if state == claim.InDoubt {
				doubts[p]++
			}
			if !o.fenced(i) {
				m.unfenced++
			} else if state.Live() {
				return fmt.Errorf("claim %d of %s is fenced and live", i, o.shape.name)
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
		if o.settled != o.isSettled() || s.piece(o.shape.name) != o || !slices.Contains(o.region.owners(), o) || o.shape.cohort.owners[o.place] != o {
			return fmt.Errorf("piece %s: settled %v, or not found", o.shape.name, o.settled)
		}
		if s.outcome().Terminal() && o.outcome() == outcome.Active {
			return fmt.Errorf("piece %s is ACTIVE in a %v session", o.shape.name, s.outcome())
		}
	}
	if !s.listed() && (s.outcome() == outcome.Failed || s.outcome() == outcome.Cancelled) {
		return fmt.Errorf("it is %v, and has no list of its members", s.outcome())
	}
	for k, got := range s.members() {
		if m, _ := s.memberOf(got.peer.member()); m != &s.members()[k] {
			return fmt.Errorf("member %v is listed twice", got.peer.member())
		}
		want := members[got.peer]
		if want == nil {
			want = &member{}
			if !got.visits {
				return fmt.Errorf("nothing names member %v", got.peer.member())
			}
		}
		if got.live != want.live || got.publishing != want.publishing || got.unfenced != want.unfenced {
			return fmt.Errorf("member %v is %+v, counted %+v", got.peer.member(), got, *want)
		}
	}
	if open != s.rules.Open() || succeeded != s.rules.Succeeded() || unsettled != s.rules.Unsettled() || len(s.pieces()) != s.rules.Owners() || s.clock.Settled() != (s.outcome().Terminal() && unsettled == 0) {
		return fmt.Errorf("open %d of %d, succeeded %d of %d, unsettled %d of %d, settled %v", s.rules.Open(), open, s.rules.Succeeded(), succeeded, s.rules.Unsettled(), unsettled, s.clock.Settled())
	}
	return nil
}

// checkDeadline: exactly the sessions with a running clock have a deadline.
func (c *core) checkDeadline(s *session) error {
	has := s.place > 0
	switch {
	case s.outcome() == outcome.Active:
		if has != s.clock.Armed() || has && !s.clock.Waits() {
			return fmt.Errorf("ACTIVE, armed %v, deadline %v", s.clock.Armed(), has)
		}
	case s.clock.Settled() || c.fatal():
		if has {
			return fmt.Errorf("settled or FATAL, and a clock runs")
		}
	case !s.clock.Draining() || !has || s.clock.Waits():
		return fmt.Errorf("not settled, draining %v, deadline %v", s.clock.Draining(), has)
	}
	return nil
}

func checkPeers(t testing.TB, c *core, doubts map[*peer]int) {
	t.Helper()
	for a, list := range c.peers {
		for _, p := range list {
			dead := 0
			for _, s := range p.visits {
				if s == nil || s.rules.Closed() {
					dead++
				}
			}
			if p.accessor != a || p.doubts != doubts[p] || p.dead != dead || dead > 0 && len(p.visits) == dead {
				t.Fatalf("peer %v of %s: doubts %d of %d, dead %d of %d, visits %d", p.member(), a, p.doubts, doubts[p], p.dead, dead, len(p.visits))
			}
			if len(p.cohorts)+len(p.visits) == 0 {
				t.Fatalf("nothing names peer %v", p.member())
			}
			for k, at := range p.cohorts {
				if at.cohort.peers[at.index] != p || at.cohort.slots[at.index] != k || c.cohorts.byKey[at.cohort.key()] != at.cohort {
					t.Fatalf("peer %v is not in the cohort of its place %d", p.member(), k)
				}
			}
			delete(doubts, p)
		}
	}
	if len(doubts) > 0 {
		t.Fatalf("%d accessors in doubt cannot be found", len(doubts))
	}
	idle := 0
	for _, co := range c.cohorts.byKey {
		if len(co.owners) == 0 {
			idle++
		}
		if len(co.owners) == 0 && !co.resting {
			t.Fatalf("an idle cohort of %d is not among the idle ones", len(co.peers))
		}
	}
	if idle > maxIdle {
		t.Fatalf("%d idle cohorts", idle)
	}
	for i, s := range c.deadlines {
		if i > 0 && c.deadlines.before(i, (i-1)/2) {
			t.Fatalf("session %v is due before the one above it", s.name())
		}
	}
}

func checkTables(t testing.TB, c *core) {
	t.Helper()
	tombstones, kept, waiting, quiesced, shared := 0, 0, 0, 0, 0
	buried, asked, lives := map[Accessor]int{}, map[Accessor]int{}, map[Member]int{}
	for name, e := range c.endpoints {
		for number, r := range e.requests {
			if t := r.tombstone(); t != nil {
				tombstones++
				if t.by != "" {
					buried[t.by]++
				}
			}
			if r.tombstone() == nil && r.newest() == 0 {
				t.Fatalf("request %s/%d is remembered for nothing", name, number)
			}
		}
	}
	for _, list := range c.kept.byRequest {
		kept += len(list)
		for _, r := range list {
			asked[r.from.Accessor]++
			lives[r.from]++
		}
	}
	if !maps.Equal(buried, c.buried) || !maps.Equal(asked, c.kept.byAccessor) || !maps.Equal(lives, c.kept.byMember) {
		t.Fatalf("shares: tombstones %v of %v, kept %v of %v, by life %v of %v", c.buried, buried, c.kept.byAccessor, asked, c.kept.byMember, lives)
	}
	for a, q := range c.outbox.queues {
		var last *node
		before := waiting
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
		shared += min(q.n, c.cfg.PeerOutbox)
		if q.n != waiting-before {
			t.Fatalf("outbox of %s counts %d of %d", a, q.n, waiting-before)
		}
	}
	if shared != c.outbox.shared {
		t.Fatalf("outbox: %d of %d messages in shares", c.outbox.shared, shared)
	}
	if tombstones != c.admits.Tombstones() || kept != c.kept.n || waiting != c.outbox.waiting || quiesced != len(c.outbox.quiesced) {
		t.Fatalf("tombstones %d of %d, kept %d of %d, waiting %d of %d, quiesced %d of %d", c.admits.Tombstones(), tombstones,
			c.kept.n, kept, c.outbox.waiting, waiting, len(c.outbox.quiesced), quiesced)
	}
}
