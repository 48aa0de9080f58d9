// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

const before5 = 5*second - 1 // a nanosecond ahead of a deadline at 5 s

// The table of contract §6: armed at 0, T = 5, G = 5.
func TestBoundariesAreHalfOpen(t *testing.T) {
	setup := func(t *testing.T) (*harness, PieceName) {
		h := newHarness(t)
		p := h.open(1, Receive, "a")
		h.publish(p)
		return h, p
	}
	cancelAt := func(h *harness, p PieceName, at time.Duration) CancelResult {
		r, effects, err := h.reg.Cancel(at, CancelSpec{Session: p.Session})
		h.ok(effects, err)
		return r
	}
	t.Run("last evidence just before the deadline settles", func(t *testing.T) {
		h, p := setup(t)
		cancelAt(h, p, 0)
		h.now = before5
		h.ok(h.report(p, "a", OK))
		h.tick(time.Hour)
		if len(h.contained) != 0 {
			t.Fatal("contained although settled")
		}
	})
	t.Run("last evidence at the deadline is only recorded", func(t *testing.T) {
		h, p := setup(t)
		cancelAt(h, p, 0)
		h.now = 5 * second
		h.ok(h.report(p, "a", OK))
		if st := h.state(p); len(h.contained) != 1 || st.Claims[0].State != claim.Drained || st.Drained {
			t.Fatalf("contained %d, %v, drained %v", len(h.contained), st.Claims[0].State, st.Drained)
		}
	})
	t.Run("expiry counts at its own time when a cancel notices it", func(t *testing.T) {
		h, p := setup(t)
		r := cancelAt(h, p, 6*second)
		s, _ := h.reg.Session(p.Session)
		if r.Outcome != outcome.Failed || r.Cause != CauseTimeout || r.Origin != FromTimeout || s.DrainStart != 5*second || s.Deadline != 10*second {
			t.Fatalf("%+v, drain start %v, deadline %v", r, s.DrainStart, s.Deadline)
		}
	})
	t.Run("completion at the expiry is a timeout", func(t *testing.T) {
		h, p := setup(t)
		h.now = 4 * second
		h.ok(h.report(p, "a", OK))
		h.ok(h.reg.Complete(5*second, p.Session))
		if s, _ := h.reg.Session(p.Session); s.Outcome != outcome.Failed || s.Cause != CauseTimeout {
			t.Fatalf("%v by %v", s.Outcome, s.Cause)
		}
	})
	t.Run("evidence has its own time when a late watchdog is at work", func(t *testing.T) {
		h, p := setup(t)
		h.tick(5 * second)
		// The report arrived while the watchdog waited for the lock: it is in the
		// inbox, and is applied before the deadline that lies after it.
		late := &arrival{evidence: evidence{at: 10*second - 1, kind: evidenceReport, claim: h.claim(p, "a"), from: h.member("a"), result: OK}}
		h.reg.inbox.put(late)
		effects, err := h.reg.Tick(12 * second)
		h.ok(append(late.effects, effects...), err)
		if !late.done || late.err != nil || len(h.contained) != 0 {
			t.Fatalf("done %v, error %v, contained %d", late.done, late.err, len(h.contained))
		}
	})
}

// §6: the request clock starts at the first publication, nothing extends it, and
// it stops at the outcome.
func TestRequestClock(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	h.tick(time.Hour) // nothing is at risk
	if _, running := h.reg.NextDeadline(); running {
		t.Fatal("a clock runs before the first publication")
	}
	h.publish(p)
	h.tick(3 * second)
	q := h.piece(PieceSpec{Name: PieceName{p.Session, "q"}, Cohort: h.cohort(Receive, "a")})
	h.publish(q)
	if due, _ := h.reg.NextDeadline(); due != time.Hour+5*second {
		t.Fatalf("deadline is %v", due)
	}
	h.ok(h.reg.Complete(h.now, p.Session))
	h.ok(h.report(p, "a", OK))
	h.ok(h.report(q, "a", OK))
	if _, running := h.reg.NextDeadline(); running {
		t.Fatal("a clock runs in a settled session")
	}
	h.tick(time.Hour)
	h.ok(h.reg.Close(h.now, p.Session))
}

// §6: a local start counts as a publication.
func TestLocalStartArms(t *testing.T) {
	h := newHarness(t)
	s := sessionNamed(1, 1)
	h.ok(h.reg.Admit(0, SessionSpec{Name: s, Side: Send}))
	p := h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(Send, "a"), Local: true})
	h.want(ErrReject)(h.reg.Seal(h.now, p)) // the gather is not DRAINED
	h.ok(h.reg.Local(h.now, h.claim(p, Local), LocalStart))
	if due, _ := h.reg.NextDeadline(); due != 5*second {
		t.Fatalf("deadline is %v", due)
	}
}

// §6 and §7: a session's own limits, and refusals at admission.
func TestTimeLimits(t *testing.T) {
	h := newHarness(t)
	for _, bad := range []SessionSpec{{RequestTimeout: -1}, {Grace: -1}} {
		bad.Name, bad.Side = sessionNamed(1, 1), Receive
		h.want(ErrInvalidArgument)(h.reg.Admit(0, bad))
	}
	h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 1), Side: Receive, RequestTimeout: 1<<63 - 1, Grace: second}))
	p := h.piece(PieceSpec{Name: PieceName{sessionNamed(1, 1), "p"}, Cohort: h.cohort(Receive, "a")})
	h.now = second
	h.publish(p)
	if due, _ := h.reg.NextDeadline(); due != 1<<63-1 {
		t.Fatalf("deadline is %v: it overflowed", due)
	}
}

// §6: the first drain start stands while its deadline is ahead; a doubt after it
// starts its own grace.
func TestDrainStart(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a", "b")
	h.publish(p)
	h.ok(h.report(p, "a", OK))
	_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: p.Session})
	h.ok(effects, err)
	h.tick(2 * second)
	h.ok(h.report(p, "b", OK)) // settled
	h.tick(2 * second)
	h.ok(h.report(p, "a", InDoubt)) // unsettled again, deadline 5 s is ahead
	if s, _ := h.reg.Session(p.Session); s.Deadline != 5*second {
		t.Fatalf("deadline moved to %v", s.Deadline)
	}
	h.ok(h.report(p, "a", FailedQuiesced))
	h.tick(time.Minute)
	h.ok(h.report(p, "b", InDoubt))
	if s, _ := h.reg.Session(p.Session); s.DrainStart != h.now || len(h.contained) != 0 {
		t.Fatalf("drain start %v, contained %d", s.DrainStart, len(h.contained))
	}
	h.tick(5 * second)
	if len(h.contained) != 1 || h.contained[0].Session != p.Session || len(h.contained[0].Retained) != 1 {
		t.Fatalf("contained %+v", h.contained)
	}
}
