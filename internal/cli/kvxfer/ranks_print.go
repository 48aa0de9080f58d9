// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/schollz/progressbar/v3"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/ranks"
)

// ranksBar shows how many requests have begun, and returns what ends it.
func (a *app) ranksBar(f *ranksFlags, o *ranks.Options) (end func()) {
	if f.json || !isTerminal(a.stderr) {
		return func() {}
	}
	bar := progressbar.NewOptions(o.Requests, progressbar.OptionSetWriter(a.stderr), progressbar.OptionShowCount(),
		progressbar.OptionSetDescription("requests"), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	o.Progress = func(n int) { _ = bar.Set(n) }
	return func() { _ = bar.Finish() }
}

// spread is some times as percentiles, in microseconds.
type spread struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

func spreadOf(times []time.Duration) spread {
	us := func(p float64) float64 { return float64(ranks.Percentile(times, p)) / 1e3 }
	return spread{len(times), us(50), us(99), us(100)}
}

func (a *app) printRanks(f *ranksFlags, o *ranks.Options, r *ranks.Result) error {
	took := r.Last - r.First
	rate := float64(r.Retired) / float64(o.Ranks) / max(took.Seconds(), 1e-9)
	if f.json {
		latency := map[string]spread{"bare idle": spreadOf(r.Idle), "bare busy": spreadOf(r.Busy)}
		for how, times := range r.Latency {
			latency[how.String()] = spreadOf(times)
		}
		return a.json(map[string]any{
			"ranks": o.Ranks, "requests": r.Requests, "retired": r.Retired, "held": r.Held, "retired_per_second": rate,
			"latency": latency, "broken": r.Broken, "reports": r.Reports,
		})
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"", "count", "p50", "p99", "max"})
	row := func(name string, times []time.Duration) {
		at := func(p float64) time.Duration { return ranks.Percentile(times, p).Round(10 * time.Microsecond) }
		t.AppendRow(table.Row{name, len(times), at(50), at(99), at(100)})
	}
	row("etcd: put and watch, before the requests", r.Idle)
	row("etcd: put and watch, among the requests", r.Busy)
	for _, how := range []ranks.Ending{ranks.Cancel, ranks.Failure, ranks.Success} {
		if times := r.Latency[how]; len(times) > 0 {
			row(how.String()+": from its end to the last rank", times)
		}
	}
	t.Render()
	retained := 0
	for _, report := range r.Reports {
		retained += len(report.Retained)
	}
	fmt.Fprintf(a.stdout, "%d requests on %d ranks in %v: %.0f/s retired; %d parts are held", r.Requests, o.Ranks, took.Round(time.Millisecond), rate, retained)
	if died := r.Held - retained; died > 0 {
		fmt.Fprintf(a.stdout, ", %d ended with their process", died)
	}
	fmt.Fprintln(a.stdout)
	a.printWrites(r)
	for _, b := range r.Broken {
		fmt.Fprintln(a.stdout, "BROKEN", b)
	}
	a.printRetained(r)
	return nil
}

func (a *app) printWrites(r *ranks.Result) {
	var writes, statements, most uint64
	for _, report := range r.Reports {
		c := report.Counters
		w := c.StateWrites + c.AckWrites + c.Deletions
		writes, statements, most = writes+w, statements+c.Written, max(most, w*1000/max(report.Ticks, 1))
	}
	fmt.Fprintf(a.stdout, "%d statements in %d writes; a rank made at most %.3f writes a tick\n", statements, writes, float64(most)/1000)
}

// printRetained shows a few of what every rank retains, and why.
func (a *app) printRetained(r *ranks.Result) {
	const few = 3
	for _, report := range r.Reports {
		for i, q := range report.Retained {
			if i == few {
				fmt.Fprintf(a.stdout, "rank %d retains %d more\n", report.Rank, len(report.Retained)-few)
				break
			}
			for _, why := range q.Waits {
				fmt.Fprintf(a.stdout, "rank %d retains %s: %s\n", report.Rank, q.Session, why)
			}
		}
	}
}
