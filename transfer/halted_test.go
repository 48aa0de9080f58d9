// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// counting counts how often it is closed.
type counting struct {
	backend.Backend
	closed *int
}

func (b counting) Close() error { *b.closed++; return b.Backend.Close() }

// TestNothingBeginsAfterTheEnd: neither goroutines nor calls of the backend, and who asks
// hears that the endpoint has halted. A second Stop finds nothing to take apart.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Endpoint){
		"Halt": func(_ *testing.T, e *Endpoint) { e.Halt() },
		"Stop": func(t *testing.T, e *Endpoint) {
			if err := errors.Join(e.Stop(t.Context()), e.Stop(t.Context())); err != nil {
				t.Error(err)
			}
			if _, err := e.enterBackend(nil); !errors.Is(err, ErrHalted) {
				t.Errorf("who wants to call the backend hears %v", err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			closed := 0
			e := host(t, func(c *Config) { c.Backend = counting{c.Backend, &closed} })
			end(t, e)
			if e.start(func() { t.Errorf("%s: a goroutine begins", name) }) {
				t.Errorf("%s: it says that a goroutine has begun", name)
			}
			synctest.Wait()
			if want := map[string]int{"Halt": 0, "Stop": 1}[name]; closed != want {
				t.Errorf("%s: the backend is closed %d times, want %d", name, closed, want)
			}
		})
	}
}

// TestStopSaysWhoIsWaitedFor: one to whom something is owed, however many others there are.
func TestStopSaysWhoIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		for _, name := range []string{"a", "b", "c", "d"} {
			mustVisit(t, e, name, 1)
		}
		synctest.Wait()
		if name, n := e.pending(); name != "" || n != 0 {
			t.Errorf("%d to %q, though nothing is owed", n, name)
		}
		owes := bare(e, "e")
		owes.out.replies = []wire.Sequenced{wire.SessionQuiesced{Session: someSession}, wire.SessionQuiesced{Session: wireSession(of("e", 2))}}
		e.mu.Lock()
		e.peers["e"] = owes
		e.mu.Unlock()
		for range 50 { // in whatever order it looks
			if name, n := e.pending(); name != "e" || n != 2 {
				t.Fatalf("%d to %q, want 2 to e", n, name)
			}
		}
	})
}
