// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

func TestContractReport(t *testing.T) {
	reportSender.run(t)
	reportCancel.run(t)
	reportQuiesced.run(t)
	reportAck.run(t)
	reportFence.run(t)
}

// submitted opens a send session of one piece whose operations have begun.
func (h *harness) submitted(n uint64, cohort ...Accessor) PieceName {
	h.t.Helper()
	p := h.open(n, Send, cohort...)
	h.publish(p)
	for _, a := range cohort {
		h.operate(p, a, operation.StatusSubmitting, operation.StatusSubmitted)
	}
	return p
}

var reportSender = sentences{
	"§8 RESULT: one for each way in which a claim moves": func(h *harness) {
		for n, tc := range []struct {
			statuses []operation.Status
			want     string
		}{
			{[]operation.Status{operation.StatusSubmitting, operation.StatusDone}, "OK"},
			{[]operation.Status{operation.StatusSubmitting, operation.StatusNotSubmitted}, "FAILED"},
			{[]operation.Status{operation.StatusSubmitting, operation.StatusError}, "IN_DOUBT"},
		} {
			p := h.open(uint64(n+1), Send, "a", "b") // b keeps the session from being quiesced
			h.publish(p)
			h.operate(p, "a", tc.statuses...)
			if got := h.labels("a"); len(got) == 0 || got[0] != tc.want {
				h.t.Fatalf("%v tells %v", tc.statuses, got)
			}
			h.deliver("a")
			h.ok(h.reg.Reopen(0))
		}
	},
	"§8 IN_DOUBT goes out before FAILED_QUIESCED": func(h *harness) {
		p := h.submitted(1, "a")
		h.operate(p, "a", operation.StatusError, operation.StatusDone)
		h.wantTold("a", "IN_DOUBT", "CANCEL_SESSION", "FAILED_QUIESCED", "SESSION_QUIESCED")
	},
	"§8 a claim that was never sealed gives no RESULT, a local claim gives none": func(h *harness) {
		p := h.scattering(1, Send, "a")
		h.ok(h.local(p, LocalStart))
		h.ok(h.local(p, LocalDone))
		h.wantTold("a")
		h.cancel(p.Session)
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 RESULT tells of this one claim, whatever the session's outcome": func(h *harness) {
		p := h.submitted(1, "a", "b")
		h.operate(p, "a", operation.StatusDone)
		h.cancel(p.Session)
		h.operate(p, "b", operation.StatusDone)
		h.wantTold("a", "OK", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.wantTold("b", "CANCEL_SESSION", "OK", "SESSION_QUIESCED")
	},
	"§8 an invalid owner gives no RESULT and its session no SESSION_QUIESCED, CANCEL_SESSION is queued": func(h *harness) {
		p := h.submitted(1, "a")
		h.want(ErrConflict)(h.operation(p, "x", operation.StatusDone))
		h.operate(p, "a", operation.StatusDone)
		h.wantTold("a", "CANCEL_SESSION")
	},
	"§8 a failed send keeps its place": func(h *harness) {
		p := h.submitted(1, "a")
		h.operate(p, "a", operation.StatusError)
		first, _ := h.reg.Peek("a")
		if h.reg.Delivered("a", first.Number+1) {
			h.t.Fatal("a message that is not the first was delivered")
		}
		if again, _ := h.reg.Peek("a"); again != first {
			h.t.Fatalf("%v, before %v", again, first)
		}
	},
	"§8 each stream waits only for itself": func(h *harness) {
		h.cancel(h.open(1, Send, "a", "b").Session)
		h.deliver("b")
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.wantTold("b")
	},
	"§8 reports outlive close, and stop is refused while any waits": func(h *harness) {
		p := h.open(1, Send, "a")
		h.cancel(p.Session)
		h.ok(h.reg.Close(0, p.Session))
		h.want(ErrRefused)(h.reg.Stop(0))
		h.deliver("a")
		h.ok(h.reg.Stop(0))
	},
}

var reportCancel = sentences{
	"§8 receiver: CANCEL_SESSION once for a live claim that is not fenced": func(h *harness) {
		p := h.open(1, Receive, "a", "b", "c")
		h.publish(p)
		h.ok(h.report(p, "b", OK))
		h.fence("c", Passive) // fails the piece
		h.cancel(p.Session)
		h.wantTold("a", "CANCEL_SESSION")
		h.wantTold("b")
		h.wantTold("c")
	},
	"§8 receiver: no CANCEL_SESSION while a gate with that accessor is PUBLISHING": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ok(h.reg.Seal(0, p))
		h.cancel(p.Session)
		h.wantTold("a")
		h.ok(h.reg.Finish(0, p))
		h.wantTold("a", "CANCEL_SESSION")
	},
	"§8 sender: CANCEL_SESSION to cohort and requesters, but the peer that ended it": func(h *harness) {
		p := h.open(1, Send, "a", "b")
		h.ok(h.reg.Requested(0, p.Session, h.member("c")))
		h.cancelFrom(p.Session, "a", Receive)
		h.wantTold("a", "SESSION_QUIESCED")
		h.wantTold("b", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.wantTold("c", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 only a CANCEL_SESSION from a receiver is answered": func(h *harness) {
		h.cancelFrom(sessionNamed(1, 1), "a", Send)
		h.wantTold("a")
		h.cancelFrom(sessionNamed(1, 1), "a", Receive)
		h.wantTold("a", "SESSION_QUIESCED")
	},
}

var reportQuiesced = sentences{
	"§8 SESSION_QUIESCED goes last, once the session is settled, local claims included": func(h *harness) {
		p := h.scattering(1, Send, "a")
		h.ok(h.local(p, LocalStart))
		h.cancel(p.Session)
		h.wantTold("a", "CANCEL_SESSION")
		h.ok(h.local(p, LocalDone))
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 it is taken back when the session stops being settled, and queued again": func(h *harness) {
		p := h.submitted(1, "a")
		h.operate(p, "a", operation.StatusDone)
		h.cancel(p.Session)
		h.wantTold("a", "OK", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.operate(p, "a", operation.StatusError)
		h.wantTold("a", "OK", "CANCEL_SESSION", "IN_DOUBT")
		h.operate(p, "a", operation.StatusDone)
		h.wantTold("a", "OK", "CANCEL_SESSION", "IN_DOUBT", "FAILED_QUIESCED", "SESSION_QUIESCED")
	},
	"§8 a success sends none, and answers CANCEL_SESSION only": func(h *harness) {
		p := h.submitted(1, "a")
		h.operate(p, "a", operation.StatusDone)
		h.ok(h.reg.Complete(0, p.Session))
		h.wantAnswer(p, outcome.Succeeded, "", NoOrigin)
		h.wantTold("a", "OK")
		h.ok(h.reg.Requested(0, p.Session, h.member("a")))
		h.wantTold("a", "OK")
		h.cancelFrom(p.Session, "a", Receive)
		h.wantTold("a", "OK", "SESSION_QUIESCED")
	},
	"§8 REQUEST_DATA for an attempt that holds nothing is answered with both, unless one waits": func(h *harness) {
		h.cancel(sessionNamed(1, 1))
		for range 2 {
			h.ok(h.reg.Requested(0, sessionNamed(1, 1), h.member("a")))
			h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
		}
	},
	"§8 older than an admitted attempt, and below the watermark, holds nothing": func(h *harness) {
		h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(9, 3), Side: Send}))
		h.ok(h.reg.Watermark(0, "origin", 5))
		for n, s := range []SessionName{sessionNamed(9, 2), sessionNamed(1, 1)} {
			a := Accessor("ab"[n : n+1])
			h.ok(h.reg.Requested(0, s, h.member(a)))
			h.wantTold(a, "CANCEL_SESSION", "SESSION_QUIESCED")
		}
	},
	"§8 while the session is owned CANCEL_SESSION is left out for a peer that was told": func(h *harness) {
		p := h.open(1, Send, "a")
		h.cancel(p.Session)
		h.deliver("a")
		h.ok(h.reg.Requested(0, p.Session, h.member("a")))
		h.wantTold("a", "SESSION_QUIESCED")
	},
	"§8 a request that comes before the session is settled is answered when it is": func(h *harness) {
		p := h.submitted(1, "a")
		h.cancel(p.Session)
		h.ok(h.reg.Requested(0, p.Session, h.member("b")))
		h.wantTold("b")
		h.operate(p, "a", operation.StatusDone)
		h.wantTold("b", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 REQUEST_DATA for an attempt not yet admitted is kept until it is": func(h *harness) {
		h.ok(h.reg.Requested(0, sessionNamed(1, 1), h.member("a")))
		h.wantTold("a")
		h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 1), Side: Send}))
		h.cancel(sessionNamed(1, 1))
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 a full table of kept requests drops it": func(h *harness) {
		h = newHarness(h.t, func(c *Config) { c.Requests = 1 })
		h.ok(h.reg.Requested(0, sessionNamed(1, 1), h.member("a")))
		h.want(ErrCapacity)(h.reg.Requested(0, sessionNamed(2, 1), h.member("a")))
		if n := h.reg.Counters(); n.Requests != 1 || n.RequestsDropped != 1 {
			h.t.Fatalf("%+v", n)
		}
	},
}

var reportAck = sentences{
	"§8 SESSION_QUIESCED is acked evidence on the pieces whose cohort has the accessor": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		q := h.more(p, "q", Receive, "b")
		h.publish(p, q)
		h.cancel(p.Session)
		h.ack(p.Session, "b")
		h.wantClaims(p, claim.Published, claim.FailedQuiesced)
		h.wantClaims(q, claim.FailedQuiesced)
	},
	"§8 it is ignored for an ACTIVE session and while the gate is PUBLISHING": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ok(h.reg.Seal(0, p))
		h.ack(p.Session, "a")
		h.wantClaims(p, claim.Published)
		h.cancel(p.Session)
		h.ack(p.Session, "a")
		h.wantClaims(p, claim.Published)
		h.ok(h.reg.Finish(0, p))
		h.ack(p.Session, "a")
		h.wantClaims(p, claim.FailedQuiesced)
	},
	"§8 it is ignored for a session without pieces": func(h *harness) {
		h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 1), Side: Receive}))
		h.cancel(sessionNamed(1, 1))
		h.ack(sessionNamed(1, 1), "x")
	},
	"§8 it never settles a claim in doubt": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", InDoubt))
		h.ack(p.Session, "a")
		h.wantClaims(p, claim.InDoubt)
	},
	"§8 from outside every cohort it is a conflict on every piece": func(h *harness) {
		p := h.open(1, Receive, "a")
		q := h.more(p, "q", Receive, "b")
		h.publish(p, q)
		h.cancel(p.Session)
		h.want(ErrConflict)(h.reg.Ack(0, p.Session, h.member("x")))
		if !h.state(p).Invalid || !h.state(q).Invalid {
			h.t.Fatal("not invalid")
		}
	},
	"§8 with fenced claims only it is stale, with others it touches those": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.fence("a", Passive)
		h.want(ErrStale)(h.reg.Ack(0, p.Session, h.member("a")))
		q := h.open(2, Receive, "b")
		h.publish(q)
		h.ok(h.reg.Fail(0, q.Session, "over"))
		h.ack(q.Session, "b")
		h.wantClaims(q, claim.FailedQuiesced)
	},
	"§8 a report that claims to come from another accessor is dropped before it is evidence": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.want(ErrReject)(h.reg.Report(0, PeerReport{Claim: h.claim(p, "a"), From: "b", Evidence: OK}))
		h.wantClaims(p, claim.Published)
		if n := h.reg.Counters().Foreign; n != 1 {
			h.t.Fatal(n)
		}
	},
}

var reportFence = sentences{
	"§8 a fence discards what waits in sessions of the side that it reached": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.cancel(p.Session)
		h.cancel(h.open(2, Send, "a").Session)
		h.wantTold("a", "CANCEL_SESSION", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.fence("a", Own)
		h.wantTold("a", "CANCEL_SESSION")
		h.fence("a", All)
		h.wantTold("a")
	},
	"§8 nothing is queued under the names that it ended": func(h *harness) {
		p := h.submitted(1, "a", "b")
		h.fence("a", Own)
		h.operate(p, "b", operation.StatusDone)
		h.wantTold("a")
		h.wantTold("b", "CANCEL_SESSION", "OK", "SESSION_QUIESCED")
	},
	"§8 a later request of a is its next incarnation's and is answered": func(h *harness) {
		p := h.submitted(1, "a", "b")
		h.fence("a", Own)
		h.lives["a"]++
		h.ok(h.reg.Requested(0, p.Session, h.member("a")))
		h.operate(p, "b", operation.StatusDone)
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
}
