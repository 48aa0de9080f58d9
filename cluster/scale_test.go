// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
)

// The sizes of the simulation. Those that docs/scale.md shows are given there.
var (
	scaleRanks    = flag.Int("scale-ranks", 32, "ranks of the simulation")
	scaleGroup    = flag.Int("scale-group", 8, "ranks that a request lives on")
	scaleRequests = flag.Int("scale-requests", 50, "requests in flight on each rank")
	scaleOver     = flag.Duration("scale-over", time.Second, "time over which they are cancelled")
	scaleFaults   = flag.Float64("scale-faults", 0.1, "part of the ranks that are cut off for two leases meanwhile")
	scaleDelay    = flag.Duration("scale-delay", 500*time.Microsecond, "one way between a rank and the store")
)

// fleet is groups of ranks with all their requests in flight, in virtual time.
type fleet struct {
	t       *testing.T
	stores  []*memstore.Store
	clients []*memstore.Client
	ranks   []*cluster.Rank
	open    [][]*cluster.Request // by rank and request

	mu      sync.Mutex
	began   [][]time.Time   // guarded by mu; by group and request: cancelled on its first rank
	left    [][]int         // guarded by mu; by group and request: ranks that have not retired it
	latency []time.Duration // guarded by mu
	done    sync.WaitGroup  // requests that all ranks retired
}

// TestScale cancels everything that many ranks have in flight, and says what
// that costs: writes, memory, and the time until the last rank has retired a
// request. Time is virtual; memory and processor time are real.
func TestScale(t *testing.T) {
	var before, opened runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t}
		f.join()
		f.begin()
		runtime.GC()
		runtime.ReadMemStats(&opened)
		start := time.Now()
		f.cut()
		f.cancel()
		f.done.Wait()
		took := time.Since(start)
		f.report(took, opened.HeapAlloc-before.HeapAlloc)
		f.close()
	})
	t.Logf("real time %v", time.Since(began).Round(time.Millisecond))
}

func (f *fleet) join() {
	groups := *scaleRanks / *scaleGroup
	f.ranks, f.clients = make([]*cluster.Rank, groups**scaleGroup), make([]*memstore.Client, groups**scaleGroup)
	f.open = make([][]*cluster.Request, len(f.ranks))
	var all sync.WaitGroup
	for g := range groups {
		s := memstore.New(0)
		f.stores = append(f.stores, s)
		f.began, f.left = append(f.began, make([]time.Time, *scaleRequests)), append(f.left, make([]int, *scaleRequests))
		for i := range *scaleGroup {
			n := g**scaleGroup + i
			f.clients[n] = s.Client()
			f.clients[n].SetDelay(*scaleDelay, *scaleDelay)
			all.Go(func() {
				r, err := cluster.Join(f.t.Context(), cluster.Config{
					Group: "g", Rank: i, Ranks: *scaleGroup, Store: f.clients[n], OnDecision: func(d cluster.Decision) { f.decided(n, d) },
				})
				if err != nil {
					f.t.Error(err)
				}
				f.ranks[n] = r
			})
		}
	}
	all.Wait()
	if f.t.Failed() {
		f.t.FailNow()
	}
}

func (f *fleet) begin() {
	for n, r := range f.ranks {
		epoch, err := r.WaitEpoch(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		f.open[n] = make([]*cluster.Request, *scaleRequests)
		for k := range *scaleRequests {
			if f.open[n][k], err = r.Open(f.t.Context(), name(k+1), epoch); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	f.done.Add(len(f.stores) * *scaleRequests)
}

// decided answers the end of a request at once, as if its hardware were idle.
func (f *fleet) decided(n int, d cluster.Decision) {
	k := int(d.Session.Request.Number) - 1
	q := f.ends(n, k)
	if d.Verdict == cluster.End {
		if err := q.Publish(drained); err != nil {
			f.t.Error(err)
		}
		return
	}
	if err := q.Close(); err != nil {
		f.t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := n / *scaleGroup
	f.open[n][k] = nil
	if f.left[g][k]--; f.left[g][k] == 0 {
		f.latency = append(f.latency, time.Since(f.began[g][k]))
		f.done.Done()
	}
}

// ends notes when a request ended first, and returns a rank's part of it; nil
// once that is retired.
func (f *fleet) ends(n, k int) *cluster.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := n / *scaleGroup
	if f.began[g][k].IsZero() {
		f.began[g][k], f.left[g][k] = time.Now(), *scaleGroup
	}
	return f.open[n][k]
}

// cancel ends the requests one after the other, each on one rank of its group.
func (f *fleet) cancel() {
	for k := range *scaleRequests {
		for g := range f.stores {
			n := g**scaleGroup + k%*scaleGroup
			if q := f.ends(n, k); q != nil {
				if err := q.Publish(drained); err != nil {
					f.t.Error(err)
				}
			}
		}
		time.Sleep(*scaleOver / time.Duration(*scaleRequests))
	}
}

// cut takes some ranks' way to the store away for two leases, one at most in
// each group, at moments that are spread over the run.
func (f *fleet) cut() {
	random := rand.New(rand.NewPCG(1, 2))
	chosen := random.Perm(len(f.stores))[:int(*scaleFaults*float64(len(f.ranks))+0.5)%(len(f.stores)+1)]
	for _, g := range chosen {
		c := f.clients[g**scaleGroup+random.IntN(*scaleGroup)]
		at := time.Duration(random.Int64N(int64(*scaleOver)))
		go func() {
			time.Sleep(at)
			c.Partition()
			time.Sleep(2 * cluster.DefaultLease)
			c.Heal()
		}()
	}
}

func (f *fleet) report(took time.Duration, heap uint64) {
	var writes, statements, most, deletions uint64
	for _, r := range f.ranks {
		c := r.Counters()
		w := c.StateWrites + c.AckWrites + c.Deletions
		writes, statements, deletions, most = writes+w, statements+c.Written, deletions+c.Deletions, max(most, w)
	}
	var bytes uint64
	for _, s := range f.stores {
		bytes += s.Stats().Bytes
	}
	slices.Sort(f.latency)
	at := func(p float64) time.Duration { return f.latency[min(len(f.latency)-1, int(p*float64(len(f.latency))))] }
	parts := len(f.ranks) * *scaleRequests
	ticks := uint64(took/cluster.DefaultTick) + 1
	if most > 2*ticks {
		f.t.Errorf("a rank made %d writes in %d ticks", most, ticks)
	}
	if len(f.latency) != len(f.stores)**scaleRequests {
		f.t.Errorf("%d requests retired everywhere, want %d", len(f.latency), len(f.stores)**scaleRequests)
	}
	f.t.Logf("%d ranks in groups of %d, %d requests in flight on each, cancelled over %v, %.1f %% of the ranks cut off", len(f.ranks), *scaleGroup,
		*scaleRequests, *scaleOver, 100**scaleFaults)
	f.t.Logf("memory: %d bytes a part in flight, %d MiB in all", heap/uint64(parts), heap>>20)
	f.t.Logf("writes: %d (%d of them deletions) for %d statements, %.0f writes/s, at most %.3f a rank and tick; %.1f bytes a statement", writes, deletions, statements,
		float64(writes)/took.Seconds(), float64(most)/float64(ticks), float64(bytes)/float64(statements))
	f.t.Logf("retire latency: p50 %v, p99 %v, p99.9 %v, max %v", at(.5), at(.99), at(.999), at(1))
}

func (f *fleet) close() {
	time.Sleep(3 * cluster.DefaultLease) // until the last way is healed
	for _, r := range f.ranks {
		if err := r.Close(); err != nil {
			f.t.Error(err)
		}
	}
	if f.t.Failed() {
		fmt.Println("scale: failed")
	}
}
