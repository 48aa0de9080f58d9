// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// TestUnansweredCancels: after another life has begun, a peer is asked again about each
// session that has ended and for which it may still be at work; about none that it has
// said to be done with, and about none that goes on.
func TestUnansweredCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		a, _ := mustVisit(t, e, "a", 1), mustVisit(t, e, "b", 1)
		ask := func(n uint64, region string) *Session {
			s, err := e.Receive(t.Context(), ReceiveSpec{Session: of("host", n), Region: mapped(t, e, region), From: FromPeers("a", "b")})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return s
		}
		ask(1, "goes on")
		if _, err := ask(2, "cancelled").Cancel(); err != nil {
			t.Fatal(err)
		}
		if err := ask(3, "failed").Fail("no reason"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		a.next(wire.SessionQuiesced{Session: wireSession(of("host", 2))})
		synctest.Wait()
		for peer, want := range map[ownership.Accessor][]uint64{"a": {3}, "b": {2, 3}} {
			var got []uint64
			for _, m := range e.unansweredCancels()[peer] {
				c := m.(wire.CancelSession)
				got = append(got, c.Session.Request.Number)
				if c.From != wire.Receive || c.Session.Request.Endpoint != "host" {
					t.Errorf("%s is asked %v", peer, c)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s is asked about %v, want %v", peer, got, want)
			}
		}
	})
}

// TestStartOver: cancels go out again, each once, whether they are given or were not
// confirmed; nothing else does, numbers begin anew, and the old agent's name is free.
func TestStartOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		p := bare(e, "x")
		if err := p.take("agent"); err != nil {
			t.Fatal(err)
		}
		p.agent, p.metadata, p.received = "agent", []byte("m"), 4
		cancel := func(n, seq uint64) wire.CancelSession {
			return wire.CancelSession{Seq: seq, Session: wireSession(of("host", n)), From: wire.Receive}
		}
		p.out.window = []wire.Sequenced{cancel(1, 7), wire.SessionQuiesced{Seq: 8, Session: someSession}, cancel(2, 9)}
		p.out.last = 9
		if !p.startOver([]wire.Sequenced{cancel(2, 0), cancel(3, 0)}) {
			t.Error("there was no life")
		}
		if want := []wire.Sequenced{cancel(2, 0), cancel(3, 0), cancel(1, 0)}; !slices.Equal(p.out.replies, want) {
			t.Errorf("it is told %v, want %v", p.out.replies, want)
		}
		if p.received != 0 || p.out.last != 0 || len(p.out.window) != 0 || p.agent != "" || p.metadata != nil || len(e.agents) != 0 {
			t.Errorf("%+v, agent %q of %v", p.out, p.agent, e.agents)
		}
		p.life = ownership.Incarnation{}
		if p.startOver(nil) {
			t.Error("there is nobody to attach again")
		}
	})
}

// TestEachReincarnationFollowsTheLast: also one that found no backend has begun a life,
// from which the next one goes on; neither has anything to complain of.
func TestEachReincarnationFollowsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines told
		e := host(t, lines.log)
		defer e.Halt()
		mustVisit(t, e, "guest", 1)
		first, err := e.Reincarnate(t.Context(), func(string) (backend.Backend, error) { return nil, backend.ErrUnavailable })
		if err == nil || e.Incarnation() != first.To || first.Agent == "" {
			t.Errorf("%+v, %v; it lives as %v", first, err, e.Incarnation())
		}
		second, err := e.Reincarnate(t.Context(), func(agent string) (backend.Backend, error) { return loop.New(loop.Config{}).Agent(agent) })
		if err != nil || second.From != first.To || e.Incarnation() != second.To || second.Agent == first.Agent {
			t.Errorf("%+v follows %+v, %v", second, first, err)
		}
		if n := lines.count("level=ERROR"); n != 0 {
			t.Errorf("%d lines say that something is wrong", n)
		}
	})
}
