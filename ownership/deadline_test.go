// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

// earliest is the next deadline by a look at everything.
func earliest(s Snapshot) (next time.Duration, any bool) {
	for _, st := range s.Sessions {
		at := st.Expires
		switch {
		case st.Draining && !st.Settled:
			at = st.Deadline
		case !st.Armed || st.Outcome != outcome.Active:
			continue
		}
		if !any || at < next {
			next, any = at, true
		}
	}
	return next, any
}

// TestDeadlinesInOrder: of many clocks that start, change and stop, the earliest is
// next, and those that end together end in the order of admission.
func TestDeadlinesInOrder(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Grace = 1000 * second })
	const n = 61
	var open []PieceName
	for i := range uint64(n) {
		s := sessionNamed(i+1, 1)
		h.ok(h.reg.Admit(0, SessionSpec{Name: s, Side: Receive, RequestTimeout: time.Duration(1+i*23%n/2) * second}))
		open = append(open, h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(Receive, "a")}))
	}
	check := func() {
		t.Helper()
		next, runs := h.reg.NextDeadline()
		if want, any := earliest(h.reg.Snapshot()); next != want || runs != any {
			t.Fatalf("the next deadline is %v, %v; want %v, %v", next, runs, want, any)
		}
	}
	for i := range n {
		h.publish(open[i*7%n])
		check()
	}
	for i := range n / 3 {
		p := open[i*11%n]
		h.ok(h.report(p, "a", OK))
		h.ok(h.reg.Complete(h.now, p.Session))
		check()
	}
	effects, err := h.reg.Tick(100 * second)
	h.ok(effects, err)
	check()
	type end struct {
		at    time.Duration
		order uint64
	}
	var got, want []end
	for _, e := range effects {
		if e, ok := e.(*SessionEnded); ok {
			got = append(got, end{e.At, e.Session.Request.Number})
		}
	}
	for i := range uint64(n) {
		if s, _ := h.reg.Session(sessionNamed(i+1, 1)); s.Cause == CauseTimeout {
			want = append(want, end{time.Duration(1+i*23%n/2) * second, i + 1})
		}
	}
	slices.SortStableFunc(want, func(a, b end) int { return int(a.at - b.at) })
	if !slices.Equal(got, want) || len(got) != n-n/3 {
		t.Fatalf("%d sessions ended as %v, want %v", len(got), got, want)
	}
}
