// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// unread is a stream of a peer that reads no numbered message.
type unread struct{ Stream }

func (u unread) Send(ctx context.Context, m wire.Message) error {
	if _, numbered := m.(wire.Sequenced); numbered {
		<-ctx.Done()
		return ctx.Err()
	}
	return u.Stream.Send(ctx, m)
}

// TestRequestThatIsRefusedByItself: a request under a name whose answer waits already, or
// will be given, is not the application's, and takes no place.
func TestRequestThatIsRefusedByItself(t *testing.T) {
	cancelled := func(t *testing.T, e *Endpoint, n uint64) {
		_, effects, err := e.registry.Cancel(e.now(), ownership.CancelSpec{Session: of("guest", n), Origin: ownership.FromLocal})
		e.apply(effects)
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, before := range map[string]func(*testing.T, *Endpoint, *guest){
		"right behind the peer's cancel": func(_ *testing.T, _ *Endpoint, g *guest) { g.cancel("guest", 1) },
		"another piece of what was cancelled ahead": func(t *testing.T, e *Endpoint, g *guest) {
			cancelled(t, e, 1)
			g.asks(e, of("guest", 1), "first", 1)
		},
		"another piece of what has failed and is not proven": func(t *testing.T, e *Endpoint, g *guest) {
			e.sends(t, g, mapped(t, e, "source"))
			cancelled(t, e, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d desk
				e := host(t, d.take)
				defer e.Halt()
				ours, theirs := Pipe()
				g, err := enter(t, e, ours, unread{theirs}, wire.Hello{Version: wire.Current, Endpoint: "guest", Incarnation: nth(1)})
				if err != nil {
					t.Fatal(err)
				}
				g.cancel("guest", 100) // the answer never leaves, and others wait behind it
				synctest.Wait()
				before(t, e, g)
				synctest.Wait()
				g.asks(e, of("guest", 1), "kv2", 2)
				if list := d.arrived(); len(list) != 0 || e.requests.n != 0 || e.Counters().RequestsTurnedAway != 0 {
					t.Errorf("%d requests were handed over, %d are kept", len(list), e.requests.n)
				}
				g.asks(e, of("guest", 2), "kv", 3)
				if list := d.arrived(); len(list) != 1 || list[0].Session() != of("guest", 2) {
					t.Errorf("one that nothing speaks against: %v", list)
				}
			})
		})
	}
}

// TestSessionThatIsNotAdmittedYet: while it is not known whether a name will be another
// session's, nobody is told that nothing of his will be held under it. The admission may
// be refused, and what he asked for before be served.
func TestSessionThatIsNotAdmittedYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		e := host(t, d.take)
		defer e.Halt()
		g := mustVisit(t, e, "guest", 1)
		name := of("router", 1)
		g.asks(e, name, "first", 1)
		first := d.arrived()
		if len(first) != 1 {
			t.Fatalf("%d requests", len(first))
		}
		for _, side := range []ownership.Side{ownership.Send, ownership.Receive} {
			s, err := e.adopt(name, side, backend.Write, ownership.Member{Accessor: "other", Incarnation: ownership.Incarnation{9}})
			if err != nil {
				t.Fatal(err)
			}
			g.asks(e, name, side.String(), uint64(side)+1)
			if told := g.told(wire.KindSessionQuiesced); len(told) > 0 || !e.waits(first[0]) {
				t.Errorf("%v: %v, while its request can be answered", side, told)
			}
			e.forget(name)
			s.leave()
		}
		if _, err := first[0].Send(SendSpec{Region: mapped(t, e, "source")}); err != nil {
			t.Error(err)
		}
		if n := len(d.arrived()); n != 2 {
			t.Errorf("%d of 2 further pieces were handed over", n)
		}
	})
}
