// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
	"github.com/kvxfer/kvxfer/fsm"
)

// grudging is a store that gives no answer to the next requests for a lease.
type grudging struct {
	*memstore.Client
	silent int
}

func (s *grudging) Grant(ctx context.Context, ttl time.Duration) (cluster.LeaseID, error) {
	if s.silent > 0 {
		s.silent--
		return 0, memstore.ErrPartitioned
	}
	return s.Client.Grant(ctx, ttl)
}

// A rank that joins again while the store is slow to give it a lease has one in the
// end: a life without one would never end for the others, and never leave its place.
func TestEveryLifeHasALease(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		s := &grudging{Client: g.store.Client()}
		r, err := cluster.Join(g.within(time.Minute), cluster.Config{Group: "g", Rank: 1, Ranks: 2, Store: s, Lease: lease})
		if err != nil {
			g.t.Fatal(err)
		}
		defer r.Close()
		g.settle()
		s.silent = 3
		if err := g.store.ExpireLease("/kvxfer/g/a/1"); err != nil {
			g.t.Fatal(err)
		}
		time.Sleep(3 * lease)
		synctest.Wait()
		if got := r.Status(); got.Standing != cluster.Live {
			g.t.Errorf("the rank is %+v", got)
		}
		q, err := g.ranks[0].Open(g.t.Context(), name(1), g.epoch())
		if err != nil {
			g.t.Fatal(err)
		}
		s.Partition()
		time.Sleep(3 * lease)
		select {
		case <-q.Ended():
		default:
			g.t.Error("a rank has been away for three leases, and is not in doubt")
		}
		s.Heal()
		time.Sleep(lease)
	})
}

// A process does not take its own life for harmless while it holds memory of it.
func TestOwnLifeIsNotFencedOverWhatIsHeld(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		was := g.ranks[1].Incarnation()
		if err := g.store.ExpireLease("/kvxfer/g/a/1"); err != nil {
			g.t.Fatal(err)
		}
		g.want(1, ends, ends)
		fence := cluster.Fence{Rank: 1, Incarnation: was, Kind: "test", Checked: "nothing", By: "test"}
		is(g.t, g.ranks[1].Fence(g.t.Context(), fence), fsm.Refused)
		g.say(q[0], drained)
		g.want(1, ends, ends)
		g.say(q[1], drained) // its process says so by the fence of that life
		g.want(1, both, both)
	})
}
