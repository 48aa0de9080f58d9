// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
	"github.com/kvxfer/kvxfer/fsm"
)

func isErr(err, kind error) bool { return errors.Is(err, kind) }

const (
	nothing = "[]"
	ends    = "[END]"
	retires = "[RETIRE]"
	both    = "[END RETIRE]"
)

// TestFailedConsensusWaitsForEveryRank is row 6 of the catalogue: what failed
// on one rank is retired on none before all have drained (I14).
func TestFailedConsensusWaitsForEveryRank(t *testing.T) {
	inGroup(t, 3, func(g *group) {
		q := g.open(1)
		g.say(q[0], failed)
		g.want(1, ends, ends, ends)
		for _, r := range q {
			g.say(r, drained)
			if r != q[2] {
				g.want(1, ends, ends, ends)
			}
		}
		g.want(1, both, both, both)
		for _, r := range q {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestAckTargetOverwritten is row 76 where ranks are concerned: the statements
// of two ranks never replace each other, and one rank cannot speak for another.
func TestAckTargetOverwritten(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.say(q[0], drained)
		g.say(q[0], drained)
		g.want(1, ends, ends)
		if got := g.retained(1); !strings.Contains(got, "rank 1 ") || strings.Contains(got, "rank 0 ") {
			t.Errorf("retained for %s, want for rank 1 alone", got)
		}
		g.say(q[1], drained)
		g.want(1, both, both)
	})
}

func TestSuccessRetiresAtOnce(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.say(q[0], succeeded)
		g.want(1, nothing, nothing)
		g.say(q[1], succeeded)
		g.want(1, retires, retires)
	})
}

func TestMissingRankIsALiveClaim(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.say(q[0], succeeded)
		time.Sleep(time.Hour)
		g.want(1, nothing, nothing)
		is(t, q[0].Close(), fsm.Refused)
	})
}

// A rank that never opened the request answers that it holds nothing and never
// will, and keeps its word.
func TestRankThatNeverTookPartAnswers(t *testing.T) {
	inGroup(t, 3, func(g *group) {
		e := g.epoch()
		q := g.open(1, 0, 1)
		g.say(q[0], drained)
		g.say(q[1], drained)
		g.want(1, both, both, nothing)
		_, err := g.ranks[2].Open(g.t.Context(), name(1), e)
		is(t, err, fsm.Closed)
		g.ranks[2].Watermark("router", 2)
		_, err = g.ranks[2].Open(g.t.Context(), name(1), e)
		is(t, err, fsm.Closed)
		if c := g.ranks[2].Counters(); c.Past != 0 || c.Open != 0 {
			t.Errorf("after the watermark %+v is remembered", c)
		}
	})
}

// A rank that never opened a request hears of it though everybody who did goes on
// under another life, whether his words were lost with the old one or come after it.
func TestRankThatNeverTookPartHearsOfItInTheNextLife(t *testing.T) {
	for what, before := range map[string]bool{"said before": true, "said after": false} {
		t.Run(what, func(t *testing.T) {
			inGroup(t, 3, func(g *group) {
				q := g.open(1, 0, 1)
				for i := range 2 {
					g.clients[i].Partition()
					if before {
						g.say(q[i], drained)
					}
				}
				time.Sleep(2 * lease)
				g.want(1, nothing, nothing, nothing)
				for i := range 2 {
					g.clients[i].Heal()
				}
				time.Sleep(2 * lease)
				if !before {
					g.want(1, ends, ends, nothing)
					if got := g.retained(0); !strings.Contains(got, "rank 2") || !strings.Contains(got, "not heard") {
						t.Errorf("retained: %s", got)
					}
					for i := range 2 {
						g.say(q[i], drained)
					}
				}
				g.want(1, both, both, nothing)
				if left := g.retained(0) + g.retained(1); left != "[][]" {
					t.Errorf("retained: %s", left)
				}
			})
		})
	}
}

func TestProofIsTakenBack(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.say(q[0], drained)
		g.want(1, ends, ends)
		g.say(q[0], failed) // the doubt that disputes it
		g.want(1, ends, ends)
		g.say(q[1], drained)
		g.want(1, ends, ends)
		g.say(q[0], drained)
		g.want(1, both, both)
	})
}

func TestLeaseEndIsDoubtAndAFenceIsProof(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		old := g.ranks[1].Incarnation()
		fence := cluster.Fence{Rank: 1, Incarnation: old, Kind: "process", Checked: "the node is off", By: "operator"}
		is(t, g.ranks[0].Fence(g.t.Context(), fence), cluster.ErrAlive)
		_ = g.ranks[1].Close() // as if it had died
		g.say(q[0], drained)
		g.want(1, ends)
		time.Sleep(10 * lease)
		g.want(1, ends)
		if got := g.retained(0); !strings.Contains(got, "only a fence is proof") {
			t.Errorf("retained: %s", got)
		}
		unsaid := fence
		unsaid.Checked = ""
		is(t, g.ranks[0].Fence(g.t.Context(), unsaid), cluster.ErrConfig)
		if err := g.ranks[0].Fence(g.t.Context(), fence); err != nil {
			t.Fatal(err)
		}
		g.want(1, both)
		if len(g.fences) != 1 || g.fences[0].By != "operator" || g.fences[0].Incarnation != old {
			t.Errorf("fences seen: %+v", g.fences)
		}
	})
}

// A new incarnation does not speak for the old one, and takes part in new
// requests only.
func TestRestartKeepsOldClaims(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q, before := g.open(1), g.epoch()
		old := g.ranks[1].Incarnation()
		_ = g.ranks[1].Close()
		g.join(1)
		g.want(1, ends)
		g.say(q[0], drained)
		_, err := g.ranks[1].Open(g.t.Context(), name(1), before)
		is(t, err, fsm.Stale)
		time.Sleep(10 * lease)
		g.want(1, ends)
		again := g.open(2)
		g.say(again[0], drained)
		g.say(again[1], drained)
		g.want(2, both, both)
		g.want(1, ends)
		fence := cluster.Fence{Rank: 1, Incarnation: old, Kind: "process", Checked: "pid 7 is gone, its agent with it", By: "rank 1"}
		if err := g.ranks[1].Fence(g.t.Context(), fence); err != nil {
			t.Fatal(err)
		}
		g.want(1, both)
	})
}

// A process that outlived its lease goes on under a new incarnation, and
// vouches for the old one once all that it held is drained.
func TestOutlivedLease(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		old := g.ranks[1].Incarnation()
		g.clients[1].Partition()
		time.Sleep(2 * lease)
		g.want(1, ends, nothing) // rank 1 cannot know
		_, err := g.ranks[1].Open(g.within(time.Second), name(2), g.epoch()-0)
		is(t, err, fsm.Closed)
		g.clients[1].Heal()
		time.Sleep(2 * lease)
		g.want(1, ends, ends)
		if got := g.ranks[1].Incarnation(); got == old {
			t.Error("it has the same incarnation as before")
		}
		g.say(q[0], drained)
		g.want(1, ends, ends)
		g.say(q[1], drained)
		g.want(1, both, both)
		if len(g.fences) != 1 || g.fences[0].Kind != "drained" {
			t.Errorf("fences: %+v", g.fences)
		}
	})
}

func TestReplacedProcessVouchesForItself(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		first := g.ranks[1]
		g.join(1)
		g.settle()
		if s := first.Status(); s.Standing != cluster.Replaced {
			t.Errorf("the first process stands %v, want REPLACED", s.Standing)
		}
		g.say(q[0], drained)
		g.say(q[1], drained)
		g.want(1, both, both)
		_ = first.Close()
	})
}

func TestFullStoreIsAClearState(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.store.SetFull(true)
		g.say(q[0], drained)
		g.say(q[1], drained)
		time.Sleep(10 * lease)
		g.want(1, nothing, nothing)
		if s := g.ranks[0].Status(); s.Standing != cluster.Full || !errors.Is(s.Err, cluster.ErrFull) {
			t.Errorf("status %v, want FULL", s)
		}
		g.store.SetFull(false)
		time.Sleep(2 * time.Second)
		g.want(1, both, both)
		if s := g.ranks[0].Status(); s.Standing != cluster.Live {
			t.Errorf("status %v, want LIVE", s)
		}
	})
}

func TestWatchLossAndCompaction(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.clients[1].SetDelay(0, time.Second)
		g.say(q[0], cancelled)
		g.say(q[0], drained)
		time.Sleep(time.Second / 2)
		g.store.Compact()
		g.clients[1].LoseWatches()
		g.clients[0].LoseWatches()
		g.say(q[1], drained)
		time.Sleep(5 * time.Second)
		g.want(1, both, both)
		if c := g.ranks[1].Counters(); c.Reloads == 0 || c.Malformed > 0 {
			t.Errorf("counters %+v", c)
		}
	})
}

// An answer that got lost does not say that the write did.
func TestLostAnswers(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.clients[0].LoseAnswers(3)
		g.say(q[0], drained)
		g.say(q[1], drained)
		time.Sleep(time.Second)
		g.want(1, both, both)
		if c := g.ranks[1].Counters(); c.Stale > 0 || c.Applied != 2 {
			t.Errorf("counters %+v, want 2 statements applied", c)
		}
	})
}

// Whatever the number of requests, a rank writes at most twice a tick, and
// deletes what all have read.
func TestBatching(t *testing.T) {
	const requests = 500
	inGroup(t, 4, func(g *group) {
		began := time.Now()
		for n := range requests {
			q := g.open(n + 1)
			for _, r := range q {
				g.say(r, drained)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		ticks := uint64(time.Since(began)/cluster.DefaultTick) + 1
		for i, r := range g.ranks {
			c := r.Counters()
			if w := c.StateWrites + c.AckWrites + c.Deletions; w > 2*ticks {
				t.Errorf("rank %d: %d writes in %d ticks", i, w, ticks)
			}
			if c.Segments > 0 {
				t.Errorf("rank %d: %d segments are left in the store", i, c.Segments)
			}
			if len(g.decisions[i]) != requests {
				t.Errorf("rank %d: decided %d of %d", i, len(g.decisions[i]), requests)
			}
		}
		for _, k := range g.store.Keys() {
			if strings.Contains(k, "/s/") {
				t.Errorf("%s is left in the store", k)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	inGroup(t, 1, func(g *group) {
		r := g.ranks[0]
		q := g.open(1)[0]
		_, err := r.Open(g.t.Context(), name(1), g.epoch())
		is(t, err, fsm.Misuse)
		is(t, q.Publish(cluster.State{}), cluster.ErrConfig)
		_, err = r.Open(g.t.Context(), name(0), 0)
		is(t, err, cluster.ErrConfig)
		_, err = r.Open(g.within(time.Second), name(3), 1000)
		if err == nil {
			t.Error("opened at an epoch that is not there")
		}
		is(t, r.Leave(g.t.Context()), fsm.Refused)
		g.say(q, drained)
		g.want(1, both)
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		_, err = r.Open(g.t.Context(), name(1), g.epoch())
		is(t, err, fsm.Closed)
		if err := r.Leave(g.t.Context()); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []cluster.Config{
		{}, {Group: "g"}, {Group: "a/b", Ranks: 1, Store: memstoreClient()}, {Group: "g", Ranks: 65, Store: memstoreClient()},
		{Group: "g", Ranks: 2, Rank: 2, Store: memstoreClient()}, {Group: "g", Ranks: 1, Store: memstoreClient(), Tick: -1},
	} {
		if _, err := cluster.Join(t.Context(), c); !errors.Is(err, cluster.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", c, err)
		}
	}
}

// A store that lost its data knows of nothing: nothing retires, and that is to be seen.
func TestStoreThatLostItsData(t *testing.T) {
	inGroup(t, 2, func(g *group) {
		q := g.open(1)
		g.say(q[0], drained)
		g.settle()
		other := memstore.New(0)
		for _, c := range g.clients {
			c.MoveTo(other)
		}
		g.say(q[1], drained)
		time.Sleep(10 * lease)
		g.want(1, ends, ends)
		for i, r := range g.ranks {
			if s := r.Status(); s.Standing != cluster.CutOff || !errors.Is(s.Err, cluster.ErrRewound) {
				t.Errorf("rank %d stands %v, want CUT_OFF as the data is lost", i, s)
			}
		}
	})
}
