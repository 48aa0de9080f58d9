// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/backend"
)

// TestPollerThatIsHeld: it waits until it is let go, or until it is to stop.
func TestPollerThatIsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(h *held, stop chan struct{})
		want bool
	}{
		"let go": {func(h *held, _ chan struct{}) { close(h.over) }, true},
		"stop":   {func(_ *held, stop chan struct{}) { close(stop) }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, h, stop := &poller{}, &held{make(chan struct{}), make(chan struct{})}, make(chan struct{})
			if !p.paused(stop) {
				t.Errorf("%s: it is to stop, though nobody holds it", name)
			}
			p.pause.Store(h)
			result := make(chan bool, 1)
			go func() { result <- p.paused(stop) }()
			<-h.begun
			synctest.Wait()
			select {
			case <-result:
				t.Errorf("%s: it goes on while it is held", name)
			default:
				test.end(h, stop)
				if <-result != test.want {
					t.Errorf("%s: it goes on: %v", name, !test.want)
				}
			}
		})
	}
}

// localStub is a copy that nobody asks.
type localStub struct{ backend.Local }

// TestDropLetsOperationsGo: those of an agent that is gone are asked no more; copies,
// which need no agent, go on.
func TestDropLetsOperationsGo(t *testing.T) {
	old, fresh, polled, added := &job{}, &job{}, &job{local: localStub{}}, &job{local: localStub{}}
	p := &poller{jobs: []*job{old}, locals: []*job{polled}, added: []*job{fresh, added}}
	p.drop()
	if len(p.jobs) != 0 || len(p.added) != 1 || p.added[0] != added || len(p.locals) != 1 {
		t.Errorf("%d operations are asked, %d copies, %d are new", len(p.jobs), len(p.locals), len(p.added))
	}
	if !old.over.Load() || !fresh.over.Load() || polled.over.Load() || added.over.Load() {
		t.Error("the wrong ones are over")
	}
}
