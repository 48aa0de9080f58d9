// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/ownership/explain"
	"github.com/kvxfer/kvxfer/transfer"
)

// doubtful brings both sides to one claim in doubt: the receiver is stalled and
// the sender's wait runs out.
func (g *rig) doubtful() (rs, ss *transfer.Session) {
	g.t.Helper()
	attach(g.t, g.s, g.r)
	must(g.t, g.fabric.Stall(receiver))
	rs, ss = g.begin()
	time.Sleep(wait + time.Second)
	synctest.Wait()
	wantPhysical(g.t, ss, ownership.PhysicalInDoubt)
	return rs, ss
}

// settle lets the receiver go on and takes everything back.
func (g *rig) settle(rs, ss *transfer.Session) {
	g.t.Helper()
	must(g.t, g.fabric.Continue(receiver))
	must(g.t, errors.Join(rs.Drain(g.t.Context()), ss.Drain(g.t.Context())))
}

// Who waits in quarantine is woken by the operator's word and not by proof.
func TestWaitAdmission(t *testing.T) {
	within(t, 13*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		must(t, g.s.WaitAdmission(t.Context()))
		_, changed := g.s.Admission()
		rs, ss := g.doubtful()
		<-changed
		if now, _ := g.s.Admission(); now != ownership.AdmissionQuarantined {
			t.Fatalf("admission is %v, want QUARANTINED", now)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, g.s.WaitAdmission(ctx), context.DeadlineExceeded)

		waited := make(chan error, 1)
		go func() { waited <- g.s.WaitAdmission(t.Context()) }()
		g.settle(rs, ss)
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatalf("late proof lifted the quarantine: %v", err)
		default:
		}
		must(t, g.s.Reopen())
		must(t, <-waited)
		must(t, g.r.Reopen())
	})
}

// A wait that cannot succeed any more ends with the reason.
func TestWaitAdmissionEnds(t *testing.T) {
	inVirtualTime(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		g.s.keepOwning, g.r.keepOwning = true, true
		g.doubtful()
		waiter := func(p *party) chan error {
			c := make(chan error, 1)
			go func() { c <- p.WaitAdmission(t.Context()) }()
			return c
		}
		halted, fatal := waiter(g.r), waiter(g.s)
		synctest.Wait()
		g.r.Halt()
		wantErr(t, <-halted, transfer.ErrHalted)
		<-g.s.Fatal()
		wantErr(t, <-fatal, ownership.ErrFatal)
		idle := g.party("idle")
		must(t, idle.Stop(t.Context()))
		wantErr(t, idle.WaitAdmission(t.Context()), ownership.ErrClosed)
	})
}

// An endpoint says of its own memory who may touch it and what would prove the
// end of that.
func TestExplain(t *testing.T) {
	within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		rs, ss := g.doubtful()
		for p, want := range map[*party]string{
			g.s: "our operation to decode-0 may still read it: IN_DOUBT for 1s, by doubt; what frees it: the late end of this very operation",
			g.r: "prefill-0 may still write into it: IN_DOUBT for 1s, by doubt; what frees it: its late report that this very operation has ended",
		} {
			r := p.Explain()
			if r.Endpoint != p.Name() || r.Incarnation != p.Incarnation().String() || r.Elapsed != wait+time.Second || !r.Taken.Equal(time.Now()) {
				t.Errorf("%s: head %+v", p.Name(), r)
			}
			if r.Regions[0].Holding != explain.Retained || !strings.HasPrefix(r.Regions[0].Owners[0].Reasons[0].Text, want) {
				t.Errorf("%s: got %+v, want %s", p.Name(), r.Regions[0], want)
			}
		}
		g.settle(rs, ss)
		if r := g.s.Explain(); r.Regions[0].Holding != explain.Free {
			t.Errorf("after the release: %+v", r.Regions[0])
		}
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
	})
}

// metric returns the value of one metric, and whether it is there.
func metric(p *party, name, label string) (float64, bool) {
	for _, m := range p.Metrics() {
		if m.Name == name && m.LabelValue == label {
			return m.Value, true
		}
	}
	return 0, false
}

// Metrics show a doubt while it lasts, with its age, and not a moment longer.
func TestMetrics(t *testing.T) {
	within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		want := func(name, label string, value float64) {
			t.Helper()
			if got, there := metric(g.s, name, label); !there || got != value {
				t.Errorf("%s{%s} is %v, %v; want %v", name, label, got, there, value)
			}
		}
		rs, ss := g.doubtful()
		want("kvxfer_pieces_admitted_total", "", 1)
		want("kvxfer_pieces_unproven", "", 1)
		want("kvxfer_progress_errors_total", "", 0)
		want("kvxfer_admission", "QUARANTINED", 1)
		want("kvxfer_admission", "OPEN", 0)
		want("kvxfer_claims_in_doubt", receiver, 1)
		want("kvxfer_oldest_doubt_seconds", receiver, 1)
		want("kvxfer_next_deadline_seconds", "", (grace - time.Second).Seconds())
		g.settle(rs, ss)
		want("kvxfer_pieces_released_total", "", 1)
		want("kvxfer_pieces_unproven", "", 0)
		for _, name := range []string{"kvxfer_claims_in_doubt", "kvxfer_oldest_doubt_seconds", "kvxfer_next_deadline_seconds"} {
			for _, label := range []string{"", receiver} {
				if v, there := metric(g.s, name, label); there {
					t.Errorf("%s is %v after the proof", name, v)
				}
			}
		}
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
	})
}

// What every metrics library needs: a name that Prometheus takes, one line of
// help, names in groups, and counters that say so in their name.
func TestMetricsAreWellFormed(t *testing.T) {
	within(t, 12*time.Second, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		rs, ss := g.doubtful()
		seen, last := map[string]bool{}, ""
		for _, m := range g.s.Metrics() {
			if m.Name != last && seen[m.Name] {
				t.Errorf("%s comes in two groups", m.Name)
			}
			seen[m.Name], last = true, m.Name
			plain := strings.Trim(m.Name, "abcdefghijklmnopqrstuvwxyz_") == "" && strings.HasPrefix(m.Name, "kvxfer_")
			counter := strings.HasSuffix(m.Name, "_total")
			if !plain || m.Help == "" || strings.ContainsAny(m.Help, "\n\\") || counter != (m.Kind == transfer.Counter) || (m.Label == "") != (m.LabelValue == "") || m.Value < 0 {
				t.Errorf("%+v", m)
			}
		}
		g.settle(rs, ss)
		must(t, errors.Join(g.s.Reopen(), g.r.Reopen()))
	})
}

// Explain names the pins of a region that is divided into blocks.
func TestExplainNamesPins(t *testing.T) {
	atOnce(t, loop.Config{Auto: true}, func(t *testing.T, g *rig) {
		pool, err := g.r.region.Pool(blockSize)
		must(t, err)
		pin, err := pool.Blocks().Allocate("request 1", make([]blocks.Block, 2))
		must(t, err)
		r := g.r.Explain()
		if len(r.Pools) != 1 || r.Pools[0].Region != g.r.region.ID() || len(r.Pools[0].Pins) != 1 || r.Pools[0].Pins[0].Holder != "request 1" || r.Pools[0].Pins[0].Blocks != 2 {
			t.Fatalf("%+v", r.Pools)
		}
		_, err = pool.Blocks().Unpin(pin)
		must(t, err)
	})
}
