// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

var clocks = sentences{
	"§6 once FATAL no grace runs any more, and request clocks do": func(h *harness) {
		armed := h.open(1, Receive, "a")
		h.now = second
		drains, late := h.open(2, Receive, "b"), h.open(3, Receive, "c")
		for _, p := range []PieceName{drains, late} {
			h.publish(p)
		}
		h.cancel(drains.Session) // settled by 6 s, or FATAL
		h.now = 2 * second
		h.cancel(late.Session)
		h.now = 4 * second
		h.publish(armed)
		h.tick(2 * second)
		h.wantAdmission(AdmissionFatal)
		if due, runs := h.reg.NextDeadline(); !runs || due != 9*second {
			h.t.Fatalf("the next deadline is %v, %v", due, runs)
		}
		h.tick(4 * second)
		h.wantAnswer(armed, outcome.Failed, CauseTimeout, FromTimeout)
		if due, runs := h.reg.NextDeadline(); runs {
			h.t.Fatalf("the next deadline is %v", due)
		}
		if len(h.contained) != 1 || h.contained[0].Session != drains.Session {
			h.t.Errorf("%+v", h.contained)
		}
	},
	"§6 evidence that settles a session at the moment of its expiry comes too late for success": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Complete(0, p.Session))
		h.now = 5 * second
		h.ok(h.report(p, "a", OK))
		h.wantAnswer(p, outcome.Failed, CauseTimeout, FromTimeout)
		if s, _ := h.reg.Session(p.Session); !s.Settled || s.DrainStart != 5*second {
			h.t.Errorf("%+v", s)
		}
	},
	"§6 a later trigger moves no deadline that is ahead": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.publish(p)
		h.ok(h.report(p, "a", Failed))
		for range 4 {
			h.now += second
			h.cancel(p.Session)
			h.ok(h.reg.Fail(h.now, p.Session, "again"))
		}
		if s, _ := h.reg.Session(p.Session); s.DrainStart != 0 || s.Deadline != 5*second {
			h.t.Errorf("%+v", s)
		}
	},
	"§6 several clocks that ran out end in their order, each at its own time": func(h *harness) {
		for n := range uint64(3) {
			h.now = time.Duration(n) * second
			h.publish(h.open(n+1, Receive, "a"))
		}
		h.tick(5 * second) // it is 7 s
		for n := range uint64(3) {
			if s, _ := h.reg.Session(sessionNamed(n+1, 1)); s.Cause != CauseTimeout || s.DrainStart != time.Duration(5+n)*second {
				h.t.Errorf("%+v", s)
			}
		}
	},
}

func TestClocks(t *testing.T) { clocks.run(t) }
