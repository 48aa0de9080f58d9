// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// timelineOf keeps what an endpoint's Observe is told.
func (b *told) timeline(c *Config) {
	c.Observe = func(ev Event) { _, _ = b.Write([]byte(ev.String() + "\n")) }
}

// claimOf returns the name and the state of a session's only claim.
func claimOf(t *testing.T, s *Session) (ownership.ClaimName, claim.State) {
	t.Helper()
	state, known := s.State()
	if !known {
		t.Fatal("the session is closed")
	}
	c := state.Pieces[0].Claims[0]
	return c.Name, c.State
}

func mustVisit(t *testing.T, e *Endpoint, name string, n int) *guest {
	t.Helper()
	g, err := visit(t, e, name, n)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestNotificationsOfOthers: what is not of this protocol, or not from whom it names, is
// counted and changes nothing; what is late changes nothing.
func TestNotificationsOfOthers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*ownership.ClaimName)
		from   string
		kind   ownership.Evidence // that ended the claim before
		want   uint64             // foreign ones
	}{
		"another owner's":     {func(c *ownership.ClaimName) { c.Owner = ownership.Incarnation{9} }, "guest", 0, 1},
		"of another life":     {func(c *ownership.ClaimName) { c.Incarnation = ownership.Incarnation{9} }, "guest", 0, 1},
		"of a stranger":       {func(c *ownership.ClaimName) { c.Accessor = "nobody" }, "guest", 0, 1},
		"from somebody else":  {func(c *ownership.ClaimName) {}, "other", 0, 1},
		"of no session":       {func(c *ownership.ClaimName) { c.Piece.Session.Attempt++ }, "guest", 0, 0},
		"of no piece":         {func(c *ownership.ClaimName) { c.Piece.Piece = "x" }, "guest", 0, 0},
		"of an earlier claim": {func(c *ownership.ClaimName) { c.Sequence++ }, "guest", 0, 0},
		"after the result":    {func(c *ownership.ClaimName) {}, "guest", ownership.OK, 0},
		"before the result":   {func(c *ownership.ClaimName) {}, "guest", 0, 0},
		"of a closed session": {func(c *ownership.ClaimName) {}, "guest", ownership.Failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := host(t)
				defer e.Halt()
				g := mustVisit(t, e, "guest", 1)
				s := asked(t, e, mapped(t, e, "kv"))
				c, before := claimOf(t, s)
				if test.kind != 0 {
					g.next(wire.Result{Claim: wireClaim(c), Evidence: wire.Evidence(test.kind)})
					synctest.Wait()
				}
				if test.kind == ownership.Failed {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				} else {
					_, before = claimOf(t, s)
				}
				named := c
				test.change(&named)
				e.notified(e.now(), backend.Notification{Peer: test.from, Message: wire.Notification(wireClaim(named))})
				if n := e.Counters().ForeignNotifications; n != test.want {
					t.Errorf("%d foreign notifications, want %d", n, test.want)
				}
				if test.kind != ownership.Failed {
					if _, now := claimOf(t, s); now != before {
						t.Errorf("the claim is %v, was %v", now, before)
					}
				}
				kept := 0
				if name == "before the result" {
					kept = 1
				}
				if len(s.ended) != kept {
					t.Errorf("%d notifications are kept, want %d", len(s.ended), kept)
				}
				if list := g.told(wire.KindConfirmed); len(list) != 0 {
					t.Errorf("the peer is told %v", list)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		e.notified(e.now(), backend.Notification{Peer: "guest", Message: []byte("hello")})
		if n := e.Counters().ForeignNotifications; n != 1 {
			t.Errorf("%d foreign notifications, want 1", n)
		}
	})
}

// TestNotificationIsProofOfADoubt: whichever comes first, a notification of an operation
// that is in doubt frees both sides; of one that has its result it is forgotten.
func TestNotificationIsProofOfADoubt(t *testing.T) {
	for _, test := range []struct {
		result ownership.Evidence
		first  bool // the notification
		want   claim.State
	}{
		{ownership.InDoubt, true, claim.FailedQuiesced}, {ownership.InDoubt, false, claim.FailedQuiesced},
		{ownership.OK, true, claim.Drained}, {ownership.OK, false, claim.Drained}, {ownership.Failed, true, claim.Drained},
	} {
		synctest.Test(t, func(t *testing.T) {
			var lines told
			e := host(t, lines.timeline)
			defer e.Halt()
			g := mustVisit(t, e, "guest", 1)
			s := asked(t, e, mapped(t, e, "kv"))
			c, _ := claimOf(t, s)
			notified := func() {
				e.notified(e.now(), backend.Notification{Peer: "guest", Message: wire.Notification(wireClaim(c))})
			}
			if test.first {
				notified()
			}
			g.next(wire.Result{Claim: wireClaim(c), Evidence: wire.Evidence(test.result)})
			synctest.Wait()
			if !test.first {
				notified()
			}
			if _, now := claimOf(t, s); now != test.want {
				t.Errorf("%v: the claim is %v, want %v", test, now, test.want)
			}
			if len(s.ended) != 0 {
				t.Errorf("%v: %d notifications are kept", test, len(s.ended))
			}
			told := 0
			if test.result == ownership.InDoubt {
				told = 1
			}
			if list := g.told(wire.KindConfirmed); len(list) != told || told > 0 && list[0].(wire.Confirmed).Claim != wireClaim(c) {
				t.Errorf("%v: the peer is told %v", test, list)
			}
			if n := lines.count("host: operation for ", c.String(), ": its end was notified"); n != told {
				t.Errorf("%v: %d notes", test, n)
			}
			if err := errors.Join(s.Close(), e.Reopen()); err != nil && !strings.Contains(err.Error(), "OPEN") {
				t.Errorf("%v: %v", test, err)
			}
		})
	}
}

// TestConfirmedByTheTarget: that an operation of ours has ended is proof of its target
// alone, for the very operation; anything else changes nothing.
func TestConfirmedByTheTarget(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*wire.ClaimName)
		foreign uint64
		settled bool
	}{
		"this operation":       {func(*wire.ClaimName) {}, 0, true},
		"others' operation":    {func(c *wire.ClaimName) { c.Accessor = "another" }, 1, false},
		"of another life":      {func(c *wire.ClaimName) { c.Incarnation[0]++ }, 1, false},
		"of others' memory":    {func(c *wire.ClaimName) { c.Owner[0]++ }, 1, false},
		"of no session":        {func(c *wire.ClaimName) { c.Session.Attempt++ }, 0, false},
		"of no piece":          {func(c *wire.ClaimName) { c.Piece = "x" }, 0, false},
		"an earlier operation": {func(c *wire.ClaimName) { c.Sequence++ }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines told
				e := host(t, lines.timeline)
				defer e.Halt()
				g := mustVisit(t, e, "guest", 1)
				s := e.sends(t, g, mapped(t, e, "kv"))
				j := s.jobs[DefaultPiece]
				if err := e.offer(j, e.now(), operation.StatusError); err != nil {
					t.Fatal(err)
				}
				c := wireClaim(j.remote)
				test.change(&c)
				g.next(wire.Confirmed{Claim: c})
				synctest.Wait()
				want, notes := claim.InDoubt, 0
				if test.settled {
					want, notes = claim.FailedQuiesced, 1
				}
				if _, now := claimOf(t, s); now != want {
					t.Errorf("the claim is %v, want %v", now, want)
				}
				if n := e.Counters().ForeignMessages; n != test.foreign {
					t.Errorf("%d foreign messages, want %d", n, test.foreign)
				}
				if n := lines.count("host: operation ", j.claim.String(), ": its target saw it end"); n != notes {
					t.Errorf("%d notes, want %d", n, notes)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // of a session in which we post nothing
		e := host(t)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		s := asked(t, e, mapped(t, e, "kv"))
		c, _ := claimOf(t, s)
		g.next(wire.Confirmed{Claim: wire.ClaimName{
			Owner: g.life, Session: wireSession(c.Piece.Session), Piece: c.Piece.Piece, Accessor: "host", Incarnation: wire.Incarnation(e.Incarnation()), Sequence: 1,
		}})
		synctest.Wait()
		if _, now := claimOf(t, s); now != claim.Published || e.Counters().ForeignMessages != 0 {
			t.Errorf("the claim is %v", now)
		}
	})
}
