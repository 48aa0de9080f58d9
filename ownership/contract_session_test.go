// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

func TestContractSession(t *testing.T) {
	sessionRules.run(t)
	sessionClock.run(t)
}

var sessionRules = sentences{
	"§5 a piece's failure is the session's and reaches every ACTIVE piece at once": func(h *harness) {
		p := h.open(1, Receive, "a")
		q := h.more(p, "q", Receive, "b")
		r := h.scattering(2, Receive, "a") // another session's stays
		h.publish(p)
		h.ok(h.report(p, "a", Failed))
		h.wantAnswer(p, outcome.Failed, CauseFailed, FromPeer)
		h.wantAnswer(q, outcome.Failed, CauseFailed, FromPeer)
		h.wantClaims(q, claim.SafeUnpublished)
		if g := h.state(q).Gate; g != gate.Aborted {
			h.t.Fatal(g)
		}
		h.wantAnswer(r, outcome.Active, "", NoOrigin)
	},
	"§5 published claims are not touched by the session's end, local ones are withdrawn": func(h *harness) {
		p := h.scattering(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Fail(0, p.Session, "why"))
		h.wantClaims(p, claim.Published)
		h.wantLocal(p, claim.SafeUnpublished)
	},
	"§5 a piece that SUCCEEDED keeps its outcome when the session fails": func(h *harness) {
		p := h.open(1, Receive, "a")
		q := h.more(p, "q", Receive, "b")
		h.publish(p, q)
		h.ok(h.report(p, "a", OK))
		h.ok(h.report(q, "b", Failed))
		h.wantOutcome(p, outcome.Succeeded)
		h.wantAnswer(q, outcome.Failed, CauseFailed, FromPeer)
	},
	"§5 SUCCEEDED needs complete and every piece": func(h *harness) {
		p := h.open(1, Receive, "a")
		q := h.more(p, "q", Receive, "b")
		h.publish(p, q)
		h.ok(h.report(p, "a", OK))
		h.ok(h.reg.Complete(0, p.Session))
		if s, _ := h.reg.Session(p.Session); s.Outcome != outcome.Active {
			h.t.Fatal(s.Outcome)
		}
		h.ok(h.report(q, "b", OK))
		h.wantAnswer(q, outcome.Succeeded, "", NoOrigin)
	},
	"§5 an idle gap between pieces is not completion": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.tick(2 * second)
		if s, _ := h.reg.Session(p.Session); s.Outcome != outcome.Active {
			h.t.Fatal(s.Outcome)
		}
		h.publish(h.more(p, "q", Receive, "a"))
	},
	"§5 complete is rejected without a piece or with an OPEN gate": func(h *harness) {
		s := sessionNamed(1, 1)
		h.ok(h.reg.Admit(0, SessionSpec{Name: s, Side: Receive}))
		h.want(ErrReject)(h.reg.Complete(0, s))
		h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(Receive, "a")})
		h.want(ErrReject)(h.reg.Complete(0, s))
	},
	"§5 complete on a terminal or complete session does nothing": func(h *harness) {
		p, q := h.open(1, Receive, "a"), h.open(2, Receive, "a")
		h.cancel(p.Session)
		h.ok(h.reg.Complete(0, p.Session))
		h.publish(q)
		h.ok(h.reg.Complete(0, q.Session))
		h.ok(h.reg.Complete(0, q.Session))
		if len(h.log) != 0 {
			h.t.Fatal(h.log)
		}
	},
	"§5 after complete, and into a terminal session, new pieces are closed": func(h *harness) {
		p, q := h.open(1, Receive, "a"), h.open(2, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Complete(0, p.Session))
		h.cancel(q.Session)
		if err := h.reg.AddRegion(RegionSpec{ID: "R"}); err != nil {
			h.t.Fatal(err)
		}
		for _, s := range []SessionName{p.Session, q.Session} {
			_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: PieceName{s, "x"}, Region: "R", Cohort: h.cohort(Receive, "a")})
			h.want(ErrClosed)(effects, err)
		}
	},
	"§5 close is refused while ACTIVE or an owner is not drained, and releases all at once": func(h *harness) {
		p := h.open(1, Receive, "a")
		q := h.more(p, "q", Receive, "b")
		h.publish(p, q)
		h.want(ErrRefused)(h.reg.Close(0, p.Session))
		h.cancel(p.Session)
		h.ack(p.Session, "a")
		h.want(ErrRefused)(h.reg.Close(0, p.Session))
		h.wantDrained(p, true)
		h.ack(p.Session, "b")
		h.ok(h.reg.Close(0, p.Session))
		if h.effects("piece ") != 2 || h.reg.Counters().Owners != 0 {
			h.t.Fatal(h.log)
		}
	},
	"§5 of a closed request the attempts and outcomes are kept until the watermark passes": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ok(h.reg.Fail(0, p.Session, "its own reason"))
		h.ok(h.reg.Close(0, p.Session))
		if r := h.cancel(p.Session); r.Outcome != outcome.Failed || r.Cause != "its own reason" || r.Physical != PhysicalRetired {
			h.t.Fatalf("%+v", r)
		}
		h.want(ErrReject)(h.reg.Admit(0, SessionSpec{Name: p.Session, Side: Receive}))
		h.ok(h.reg.Watermark(0, "origin", 2))
		if n := h.reg.Counters().Records; n != 0 {
			h.t.Fatal(n)
		}
		h.ok(h.reg.Close(0, p.Session)) // is idempotent still
	},
}

var sessionClock = sentences{
	"§6 T and G are finite and more than 0": func(h *harness) {
		if _, err := New(Config{Name: "x", Incarnation: Incarnation{1}, Contain: func(Containment) error { return nil }, Grace: -1}); !errors.Is(err, ErrInvalidArgument) {
			h.t.Fatal(err)
		}
		h.want(ErrInvalidArgument)(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 1), Side: Send, RequestTimeout: -1}))
	},
	"§6 a trigger that finds the session settled starts no drain": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.cancel(p.Session)
		if s, _ := h.reg.Session(p.Session); !s.Settled || s.Draining {
			h.t.Fatalf("%+v", s)
		}
	},
	"§6 request expiry counts as having happened at armed + T": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.now = 6 * second
		h.cancel(p.Session)
		h.wantAnswer(p, outcome.Failed, CauseTimeout, FromTimeout)
		if s, _ := h.reg.Session(p.Session); s.DrainStart != 5*second || s.Deadline != 10*second {
			h.t.Fatalf("%+v", s)
		}
	},
	"§6 a doubt of a session that SUCCEEDED starts a drain": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.reg.Complete(0, p.Session))
		h.now = 3 * second
		h.ok(h.report(p, "a", InDoubt))
		if s, _ := h.reg.Session(p.Session); s.Outcome != outcome.Succeeded || s.DrainStart != 3*second {
			h.t.Fatalf("%+v", s)
		}
	},
	"§6 a settled session has no running clock, and after close nothing restarts it": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.cancel(p.Session)
		h.ok(h.report(p, "a", Failed))
		if _, runs := h.reg.NextDeadline(); runs {
			h.t.Fatal("a clock runs")
		}
		h.ok(h.reg.Close(0, p.Session))
		h.want(ErrStale)(h.report(p, "a", InDoubt))
		if _, runs := h.reg.NextDeadline(); runs {
			h.t.Fatal("a clock runs")
		}
	},
	"§6 deadlines are judged at every step": func(h *harness) {
		p := h.open(1, Receive, "a")
		q := h.open(2, Receive, "a")
		h.publish(p)
		h.now = 5 * second
		h.ok(h.reg.Seal(h.now, q)) // no watchdog woke
		h.wantAnswer(p, outcome.Failed, CauseTimeout, FromTimeout)
	},
	"§6 evidence of before a deadline is applied before it, whoever comes first": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Complete(0, p.Session))
		h.reg.inbox.put(&arrival{evidence: evidence{at: 5*second - 1, kind: evidenceReport, claim: h.claim(p, "a"), from: Member{Accessor: "a"}, result: OK}})
		effects, err := h.reg.Tick(12 * second)
		if err != nil || slices.ContainsFunc(effects, func(e Effect) bool { _, fatal := e.(*FatalLatched); return fatal }) {
			h.t.Fatal(effects, err)
		}
		h.wantAnswer(p, outcome.Succeeded, "", NoOrigin)
	},
	"§6 FATAL is latched once, nothing retires, evidence and outcomes are recorded": func(h *harness) {
		p, q := h.open(1, Receive, "a"), h.open(2, Receive, "b")
		h.publish(p)
		h.cancel(p.Session)
		h.tick(5 * second)
		h.wantAdmission(AdmissionFatal)
		h.ok(h.report(p, "a", Failed))
		h.wantClaims(p, claim.Drained)
		h.wantDrained(p, false)
		h.want(ErrFatal)(h.reg.Close(h.now, p.Session))
		h.want(ErrFatal)(h.reg.Seal(h.now, q))
		h.cancel(q.Session)
		h.wantAnswer(q, outcome.Cancelled, CauseCancel, FromLocal)
		h.want(ErrFatal)(h.reg.Stop(h.now))
		h.tick(60 * second)
		if len(h.contained) != 1 {
			h.t.Fatal(len(h.contained))
		}
	},
}
