// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

var (
	succeeded = cluster.State{Outcome: outcome.Succeeded, Drained: true}
	cancelled = cluster.State{Outcome: outcome.Cancelled}
	drained   = cluster.State{Outcome: outcome.Cancelled, Drained: true}
	failed    = cluster.State{Outcome: outcome.Failed}
)

const lease = 3 * time.Second

// group is some ranks on one store in memory, in virtual time.
type group struct {
	t       *testing.T
	store   *memstore.Store
	clients []*memstore.Client
	ranks   []*cluster.Rank

	mu        sync.Mutex
	decisions []map[ownership.SessionName][]cluster.Verdict // guarded by mu; a rank
	fences    []cluster.Fence                               // guarded by mu; as rank 0 saw them
}

// inGroup runs a test with n ranks in virtual time.
func inGroup(t *testing.T, n int, test func(*group)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &group{t: t, store: memstore.New(0), clients: make([]*memstore.Client, n), ranks: make([]*cluster.Rank, n)}
		for i := range n {
			g.decisions = append(g.decisions, map[ownership.SessionName][]cluster.Verdict{})
			g.join(i)
		}
		synctest.Wait()
		test(g)
		for _, r := range g.ranks {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// join starts a process of rank i, with a way of its own to the store.
func (g *group) join(i int) *cluster.Rank {
	g.t.Helper()
	g.clients[i] = g.store.Client()
	r, err := cluster.Join(g.t.Context(), cluster.Config{
		Group: "g", Rank: i, Ranks: len(g.ranks), Store: g.clients[i], Lease: lease,
		OnDecision: func(d cluster.Decision) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.decisions[i][d.Session] = append(g.decisions[i][d.Session], d.Verdict)
		},
		OnFence: func(f cluster.Fence) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if i == 0 {
				g.fences = append(g.fences, f)
			}
		},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.ranks[i] = r
	return r
}

func name(n int) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: uint64(n)}, Attempt: 1}
}

// epoch is that of rank 0, as the creator of requests.
func (g *group) epoch() cluster.Revision {
	g.t.Helper()
	synctest.Wait()
	e, err := g.ranks[0].Epoch()
	if err != nil {
		g.t.Fatal(err)
	}
	return e
}

// open opens a request on the ranks given; all if none is.
func (g *group) open(n int, on ...int) []*cluster.Request {
	g.t.Helper()
	e := g.epoch()
	if len(on) == 0 {
		for i := range g.ranks {
			on = append(on, i)
		}
	}
	all := make([]*cluster.Request, len(g.ranks))
	for _, i := range on {
		q, err := g.ranks[i].Open(g.t.Context(), name(n), e)
		if err != nil {
			g.t.Fatalf("rank %d: %v", i, err)
		}
		all[i] = q
	}
	return all
}

func (g *group) say(q *cluster.Request, s cluster.State) {
	g.t.Helper()
	if err := q.Publish(s); err != nil {
		g.t.Error(err)
	}
}

// settle lets everything happen that needs no lease to end.
func (g *group) settle() {
	synctest.Wait()
	time.Sleep(lease / 10)
	synctest.Wait()
}

// want checks the decisions about request n, a rank.
func (g *group) want(n int, want ...string) {
	g.t.Helper()
	g.settle()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range want {
		if got := fmt.Sprint(g.decisions[i][name(n)]); got != w {
			g.t.Errorf("request %d, rank %d: decisions %v, want %v", n, i, got, w)
		}
	}
}

func (g *group) retained(rank int) string {
	return fmt.Sprint(g.ranks[rank].Retained())
}

func is(t *testing.T, err, kind error) {
	t.Helper()
	if !isErr(err, kind) {
		t.Errorf("got error %v, want %v", err, kind)
	}
}

func (g *group) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(g.t.Context(), d)
	g.t.Cleanup(cancel)
	return ctx
}

func memstoreClient() cluster.Store { return memstore.New(0).Client() }
