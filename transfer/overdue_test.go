// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
)

// punctual is a copy that ends at the very moment at which our wait for it runs out.
type punctual struct {
	*loop.Local
	fabric *loop.Fabric
	due    time.Time
}

func (l *punctual) Start() backend.Observation {
	l.due = time.Now().Add(wait)
	return l.Local.Start()
}

func (l *punctual) Poll() backend.Observation {
	time.Sleep(time.Until(l.due))
	l.fabric.Step()
	return l.Local.Poll()
}

// Whatever comes first, the end of a copy is proof, and frees the memory.
func TestCopyThatEndsAsItsWaitRunsOut(t *testing.T) {
	for range 300 {
		within(t, 12*time.Second, loop.Config{}, func(t *testing.T, g *rig) {
			attach(t, g.s, g.r)
			rs, request := g.request()
			gather := &punctual{Local: g.local(g.arena(), g.s.arena, loop.Fault{}), fabric: g.fabric}
			ss, err := request.Send(transfer.SendSpec{Region: g.s.region, Gather: gather})
			must(t, err)
			time.Sleep(wait + time.Second)
			g.fabric.Advance(2)
			must(t, errors.Join(ss.Drain(t.Context()), rs.Drain(t.Context()), g.s.region.Reuse()))
		})
	}
}
