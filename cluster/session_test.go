// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// side is an endpoint with a region.
type side struct {
	*transfer.Endpoint
	region *transfer.Region
	arena  *memory.Arena
}

func newSide(t *testing.T, f *loop.Fabric, name string) side {
	t.Helper()
	agent, err := f.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	arena, err := memory.New(memory.Spec{Len: 4096})
	if err != nil {
		t.Fatal(err)
	}
	e, err := transfer.New(transfer.Config{Name: name, Backend: agent, Contain: func(c ownership.Containment) error {
		t.Errorf("contained: %v", c)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	region, err := e.Register("pool", arena)
	if err != nil {
		t.Fatal(err)
	}
	return side{e, region, arena}
}

// stop ends the endpoint, which says that nothing is owned any more.
func (s side) stop(t *testing.T) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
		s.Halt()
	}
	_ = s.arena.Close()
}

// TestDrainWaitsForTheOtherRanksWrite: two ranks receive parts of one request,
// each from a sender of its own. One rank cancels and is drained at once; its
// memory is held until the write into the other rank's memory has ended.
func TestDrainWaitsForTheOtherRanksWrite(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		fabrics := []*loop.Fabric{loop.New(loop.Config{Auto: true}), loop.New(loop.Config{})} // the second moves when told to
		q := g.open(1)
		var receivers, senders []side
		var sessions []*transfer.Session
		requests := make(chan *transfer.Request, 2)
		for i, f := range fabrics {
			r, s := newSide(g.t, f, "decode"), newSide(g.t, f, "prefill")
			receivers, senders = append(receivers, r), append(senders, s)
			s.OnRequest(func(r *transfer.Request) { requests <- r })
			attach(g.t, s, r)
			session, err := r.Receive(g.t.Context(), transfer.ReceiveSpec{Session: name(1), Region: r.region, From: transfer.FromPeers("prefill")})
			if err != nil {
				g.t.Fatal(err)
			}
			sessions = append(sessions, session)
			if request := <-requests; i == 1 {
				if _, err := request.Send(transfer.SendSpec{Region: s.region}); err != nil {
					g.t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		if _, err := sessions[0].Cancel(); err != nil {
			g.t.Fatal(err)
		}
		drains := make(chan error, 2)
		for i := range q {
			go func() { drains <- q[i].Drain(g.t.Context(), sessions[i]) }()
		}
		time.Sleep(time.Second)
		if p := sessions[0].Physical(); p != ownership.PhysicalRetired {
			g.t.Errorf("rank 0 is %v by itself, want RETIRED", p)
		}
		is(g.t, receivers[0].region.Reuse(), ownership.ErrRefused)
		g.want(1, ends, ends)

		ctx, stop := context.WithTimeout(g.t.Context(), 0)
		stop()
		if err := q[0].Drain(ctx, sessions[0]); !errors.Is(err, context.DeadlineExceeded) {
			g.t.Errorf("Drain that gives up: %v", err)
		}
		fabrics[1].Advance(1000)
		for range q {
			if err := <-drains; err != nil {
				g.t.Error(err)
			}
		}
		g.want(1, both, both)
		for i, r := range receivers {
			if err := r.region.Reuse(); err != nil {
				g.t.Error(err)
			}
			r.stop(g.t)
			senders[i].stop(g.t)
		}
	})
}

func attach(t *testing.T, a, b side) {
	t.Helper()
	one, other := transfer.Pipe()
	result := make(chan error, 1)
	go func() {
		_, err := a.Attach(t.Context(), one)
		result <- err
	}()
	if _, err := b.Attach(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}
