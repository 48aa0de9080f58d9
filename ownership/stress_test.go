// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

// clock gives every call a later time, whichever goroutine makes it.
type clock struct{ now atomic.Int64 }

func (c *clock) at() time.Duration { return time.Duration(c.now.Add(1)) }

// TestStress lives many sessions at once: for each, one goroutine opens and
// closes it while one per accessor reports, another cancels some, and others
// tick, fence strangers, drain the outbox and look. Every piece must be
// released exactly once.
func TestStress(t *testing.T) {
	const workers, rounds, accessors = 8, 40, 4
	var clk clock
	reg, err := New(Config{
		Name: "self", Incarnation: Incarnation{1}, Quarantine: QuarantineOff,
		Contain: func(c Containment) error { t.Errorf("contained %+v", c); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	released := newTally()
	var workersDone, helpersDone sync.WaitGroup
	stop := make(chan struct{})
	for _, fn := range []func(){
		func() { released.add(first(reg.Tick(clk.at()))) },
		func() { released.add(first(reg.Fence(clk.at(), FenceSpec{Accessor: "stranger", Scope: All}))) },
		func() { reg.Snapshot(); reg.NextDeadline(); reg.Counters() },
		func() {
			for _, a := range reg.WaitingFor() {
				if m, ok := reg.Peek(a); ok {
					reg.Delivered(a, m.Number)
				}
			}
		},
	} {
		helpersDone.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					fn()
				}
			}
		})
	}
	for w := range workers {
		workersDone.Go(func() {
			for i := range rounds {
				stressLife(t, reg, &clk, released, uint64(w*rounds+i), accessors)
			}
		})
	}
	workersDone.Wait()
	close(stop)
	helpersDone.Wait()
	checkInvariants(t, reg)
	n := reg.Counters()
	if want := workers * rounds; n.Released != uint64(want) || len(released.seen) != want || released.twice || n.Owners != 0 || n.Conflicts != 0 {
		t.Fatalf("%+v, %d released effects", n, len(released.seen))
	}
}

// stressLife is one receive session from admission to close.
func stressLife(t *testing.T, reg *Registry, clk *clock, released *tally, n uint64, accessors int) {
	s := sessionNamed(n, 1)
	region := fmt.Sprint("region ", n%16, n)
	must := func(e Effects, err error) {
		released.add(e)
		if err != nil {
			t.Error(err)
		}
	}
	if err := reg.AddRegion(RegionSpec{ID: region}); err != nil {
		t.Error(err)
	}
	must(reg.Admit(clk.at(), SessionSpec{Name: s, Side: Receive}))
	spec := PieceSpec{Name: PieceName{s, "p"}, Region: region}
	for i := range accessors {
		spec.Cohort = append(spec.Cohort, Member{Accessor: Accessor(fmt.Sprint("peer ", i)), Incarnation: Incarnation{3}})
	}
	claims, e, err := reg.AddPiece(clk.at(), spec)
	must(e, err)
	must(reg.Seal(clk.at(), spec.Name))
	var reports sync.WaitGroup
	for i, c := range claims {
		reports.Go(func() {
			evidence := OK
			if n%5 == 1 && i == 0 {
				must(reg.Report(clk.at(), PeerReport{Claim: c, From: c.Accessor, Evidence: InDoubt}))
				evidence = FailedQuiesced
			}
			must(reg.Report(clk.at(), PeerReport{Claim: c, From: c.Accessor, Evidence: evidence}))
			// Again: a duplicate, or stale where the close below was not too early.
			e, err := reg.Report(clk.at(), PeerReport{Claim: c, From: c.Accessor, Evidence: evidence})
			if released.add(e); err != nil && !errors.Is(err, ErrStale) {
				t.Error(err)
			}
		})
	}
	if n%3 == 1 {
		reports.Go(func() {
			_, e, err := reg.Cancel(clk.at(), CancelSpec{Session: s})
			must(e, err)
		})
	}
	must(reg.Finish(clk.at(), spec.Name))
	must(reg.Complete(clk.at(), s))
	e, err = reg.Close(clk.at(), s) // too early for most
	if released.add(e); err != nil && !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	reports.Wait()
	if st, owned := reg.Session(s); owned && st.Outcome == outcome.Active {
		t.Errorf("session %v is ACTIVE after all evidence", s)
	}
	must(reg.Close(clk.at(), s))
	must(reg.Reuse(clk.at(), region))
}

func first(e Effects, _ error) Effects { return e }

// tally counts releases, from any goroutine.
type tally struct {
	mu    sync.Mutex
	seen  map[PieceName]bool
	twice bool
}

func newTally() *tally { return &tally{seen: make(map[PieceName]bool)} }

func (l *tally) add(effects Effects) {
	for _, e := range effects {
		if r, ok := e.(*Released); ok {
			l.mu.Lock()
			l.twice = l.twice || l.seen[r.Piece]
			l.seen[r.Piece] = true
			l.mu.Unlock()
		}
	}
}
