// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"testing"
	"testing/synctest"

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
