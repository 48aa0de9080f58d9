// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// slow is a backend that loads metadata when it is let.
type slow struct {
	backend.Backend
	gate chan struct{}
}

func (b slow) Connect(string, []byte) error { <-b.gate; return nil }

func (b slow) Disconnect(string) error { return nil }

// TestNothingIsLeftOfAHandshakeThatEnded: a peer that leaves while its handshake is still
// about to return, and one whose metadata are loaded after the handshake was given up,
// keep no agent, so that their place can be another's.
func TestNothingIsLeftOfAHandshakeThatEnded(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *Endpoint, chan struct{}) *peer{
		"Goodbye before Attach returns": func(t *testing.T, e *Endpoint, gate chan struct{}) *peer {
			close(gate)
			ours, theirs := Pipe()
			g, err := enter(t, e, ours, theirs, wire.Hello{Version: wire.Current, Endpoint: "guest", Incarnation: nth(1), Metadata: []byte("m")})
			if err != nil {
				t.Fatal(err)
			}
			p := e.lookup("guest")
			p.attach <- struct{}{}
			g.goodbye()
			synctest.Wait()
			if p.forgettable() {
				t.Error("it is forgotten during its handshake")
			}
			p.detach()
			return p
		},
		"metadata that take too long": func(t *testing.T, e *Endpoint, gate chan struct{}) *peer {
			ours, theirs := Pipe()
			if _, err := enter(t, e, ours, theirs, wire.Hello{Version: wire.Current, Endpoint: "guest", Incarnation: nth(1), Metadata: []byte("m")}); err == nil {
				t.Fatal("it is attached without its metadata")
			}
			p := e.lookup("guest")
			close(gate)
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				e := host(t, func(c *Config) { c.Backend, c.HandshakeTimeout = slow{c.Backend, gate}, time.Second })
				defer e.Halt()
				p := leave(t, e, gate)
				synctest.Wait()
				if !p.forgettable() || len(e.agents) != 0 {
					t.Errorf("agent %q is left of it, of %v", p.agent, e.agents)
				}
			})
		})
	}
}
