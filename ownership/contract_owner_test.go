// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

func TestContractOwner(t *testing.T) {
	ownerGate.run(t)
	ownerCohort.run(t)
	ownerLocal.run(t)
	ownerOutcome.run(t)
}

var ownerGate = sentences{
	"§4 seal moves to PUBLISHING and publishes every candidate": func(h *harness) {
		p := h.counted(1, 1, "a", "b")
		h.ok(h.reg.Seal(0, p))
		h.wantClaims(p, claim.Published, claim.Published)
		if g := h.state(p).Gate; g != gate.Publishing {
			h.t.Fatal(g)
		}
	},
	"§4 finish moves to SEALED": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		if g := h.state(p).Gate; g != gate.Sealed {
			h.t.Fatal(g)
		}
	},
	"§4 cancel while OPEN aborts and withdraws, nothing is published afterwards": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.cancel(p.Session)
		h.wantClaims(p, claim.SafeUnpublished, claim.SafeUnpublished)
		if g := h.state(p).Gate; g != gate.Aborted {
			h.t.Fatal(g)
		}
		h.want(ErrClosed)(h.reg.Seal(0, p))
	},
	"§4 a started local claim keeps draining when the gate aborts": func(h *harness) {
		p := h.scattering(1, Send, "a")
		h.ok(h.local(p, LocalStart))
		h.cancel(p.Session)
		h.wantClaims(p, claim.SafeUnpublished)
		h.wantLocal(p, claim.Published)
		h.wantDrained(p, false)
	},
	"§4 cancel in PUBLISHING leaves gate and published claims alone": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ok(h.reg.Seal(0, p))
		h.cancel(p.Session)
		h.wantClaims(p, claim.Published)
		if g := h.state(p).Gate; g != gate.Publishing {
			h.t.Fatal(g)
		}
	},
	"§4 a second fan-out is reject and never a duplicate": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.want(ErrReject)(h.reg.Finish(0, p))
		h.publish(p)
		h.want(ErrReject)(h.reg.Seal(0, p))
		h.want(ErrReject)(h.reg.Finish(0, p))
		h.want(ErrReject)(h.reg.FailSend(0, p, nil))
	},
	"§4 evidence between seal and finish counts and success waits for finish": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ok(h.reg.Seal(0, p))
		h.ok(h.report(p, "a", OK))
		h.wantClaims(p, claim.Drained)
		h.wantOutcome(p, outcome.Active)
		h.ok(h.reg.Finish(0, p))
		h.wantOutcome(p, outcome.Succeeded)
	},
	"§4 send: seal publishes the claims of all peers and submitting is the permission": func(h *harness) {
		p := h.open(1, Send, "a", "b")
		h.want(ErrReject)(h.operation(p, "a", operation.StatusSubmitting))
		h.publish(p)
		h.wantClaims(p, claim.Published, claim.Published)
		h.ok(h.operation(p, "a", operation.StatusSubmitting))
	},
	"§4 fail_send skips fenced claims": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.ok(h.reg.Seal(0, p))
		h.fence("a", Passive)
		h.ok(h.reg.FailSend(0, p, nil))
		h.wantClaims(p, claim.FailedQuiesced, claim.SafeUnpublished)
	},
}

var ownerCohort = sentences{
	"§4 evidence from outside the cohort is a conflict": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.want(ErrConflict)(h.report(p, "x", OK))
		h.wantAnswer(p, outcome.Failed, CauseConflict, FromPeer)
	},
	"§4 DRAINED and FAILED_QUIESCED by settle count": func(h *harness) {
		p := h.counted(1, 2, "a", "b", "c")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.report(p, "b", InDoubt))
		h.wantClaims(p, claim.Drained, claim.InDoubt, claim.Published)
		h.ok(h.report(p, "b", FailedQuiesced))
		h.wantClaims(p, claim.Drained, claim.FailedQuiesced, claim.SafeUnpublished)
	},
	"§4 an ack or a fence never counts": func(h *harness) {
		p := h.counted(1, 1, "a", "b", "c")
		h.publish(p)
		h.cancel(p.Session)
		h.ack(p.Session, "a")
		h.fence("b", Passive)
		h.wantClaims(p, claim.FailedQuiesced, claim.FailedQuiesced, claim.Published)
		if h.state(p).Selected {
			h.t.Fatal("selected")
		}
	},
	"§4 a doubt takes the count back until it settles": func(h *harness) {
		p := h.counted(1, 2, "a", "b", "c")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.report(p, "a", InDoubt))
		h.ok(h.report(p, "b", OK))
		h.wantClaims(p, claim.InDoubt, claim.Drained, claim.Published)
		h.ok(h.report(p, "a", FailedQuiesced))
		h.wantClaims(p, claim.FailedQuiesced, claim.Drained, claim.SafeUnpublished)
	},
	"§4 when N count every other PUBLISHED candidate takes unexposed, one in doubt keeps needing proof": func(h *harness) {
		p := h.counted(1, 1, "a", "b", "c")
		h.publish(p)
		h.ok(h.report(p, "b", InDoubt))
		h.ok(h.report(p, "a", Failed))
		h.wantClaims(p, claim.Drained, claim.InDoubt, claim.SafeUnpublished)
		h.wantDrained(p, false)
	},
	"§4 the selection is final": func(h *harness) {
		p := h.counted(1, 1, "a", "b")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.report(p, "a", InDoubt)) // takes the count back
		if st := h.state(p); !st.Selected || st.Claims[1].State != claim.SafeUnpublished {
			h.t.Fatalf("%+v", st)
		}
	},
	"§4 if all candidates are acked the owner is drained though fewer than N count": func(h *harness) {
		p := h.counted(1, 1, "a", "b")
		h.publish(p)
		h.cancel(p.Session)
		h.ack(p.Session, "a")
		h.wantDrained(p, false)
		h.ack(p.Session, "b")
		h.wantDrained(p, true)
	},
	"§4 seal skips a fenced candidate": func(h *harness) {
		p := h.counted(1, 1, "a", "b")
		h.fence("a", Passive)
		h.publish(p)
		h.wantClaims(p, claim.SafeUnpublished, claim.Published)
	},
	"§4 an exact cohort with a fenced one has already FAILED": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.fence("a", Passive)
		h.wantAnswer(p, outcome.Failed, CauseFenced, FromLocal)
		h.want(ErrClosed)(h.reg.Seal(0, p))
	},
	"§4 at most 64 accessors a piece": func(h *harness) {
		many := make([]Accessor, MaxAccessors+1)
		for i := range many {
			many[i] = Accessor("a" + string(rune('0'+i)))
		}
		p := h.open(1, Receive, many[:MaxAccessors]...)
		spec := PieceSpec{Name: PieceName{p.Session, "q"}, Region: h.state(p).Region, Cohort: h.cohort(Receive, many...)}
		_, effects, err := h.reg.AddPiece(0, spec)
		h.want(ErrInvalidArgument)(effects, err)
	},
}

var ownerLocal = sentences{
	"§4 send: the gather starts while OPEN and must be DRAINED before seal": func(h *harness) {
		p := h.scattering(1, Send, "a")
		h.want(ErrReject)(h.reg.Seal(0, p))
		h.ok(h.local(p, LocalStart))
		h.want(ErrReject)(h.reg.Seal(0, p))
		h.ok(h.local(p, LocalDone))
		h.publish(p)
		h.want(ErrReject)(h.local(p, LocalStart))
	},
	"§4 receive: the scatter starts only when everything has arrived": func(h *harness) {
		p := h.scattering(1, Receive, "a", "b")
		h.want(ErrReject)(h.local(p, LocalStart))
		h.ok(h.reg.Seal(0, p))
		h.ok(h.report(p, "a", OK))
		h.ok(h.report(p, "b", OK))
		h.want(ErrReject)(h.local(p, LocalStart)) // the gate is PUBLISHING
		h.ok(h.reg.Finish(0, p))
		h.ok(h.local(p, LocalStart))
		h.wantOutcome(p, outcome.Active)
		h.ok(h.local(p, LocalDone))
		h.wantOutcome(p, outcome.Succeeded)
	},
	"§4 failed data is never scattered and the scatter is withdrawn": func(h *harness) {
		p := h.scattering(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", Failed))
		h.wantLocal(p, claim.SafeUnpublished)
		h.want(ErrReject)(h.local(p, LocalStart))
	},
	"§4 a scatter that has not started is withdrawn by a cancel": func(h *harness) {
		p := h.scattering(1, Receive, "a")
		h.publish(p)
		h.cancel(p.Session)
		h.wantLocal(p, claim.SafeUnpublished)
	},
	"§4 done of a local claim in doubt is a settlement": func(h *harness) {
		p := h.scattering(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.local(p, LocalStart))
		h.ok(h.local(p, LocalDoubt))
		h.wantDrained(p, false)
		h.ok(h.local(p, LocalDone))
		h.wantLocal(p, claim.FailedQuiesced)
		h.wantDrained(p, true)
		h.wantAnswer(p, outcome.Failed, CauseDoubt, FromLocal)
	},
}

var ownerOutcome = sentences{
	"§4 invalid is never cleared, never drained and never SUCCEEDED": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.want(ErrConflict)(h.report(p, "a", FailedQuiesced))
		h.wantAnswer(p, outcome.Failed, CauseConflict, FromPeer)
		h.ok(h.report(p, "a", OK))
		if st := h.state(p); !st.Invalid || st.Drained || st.Outcome != outcome.Failed {
			h.t.Fatalf("%+v", st)
		}
		h.want(ErrRefused)(h.reg.Close(0, p.Session))
	},
	"§4 first outcome wins and later causes are counted": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Fail(0, p.Session, "reason"))
		h.cancel(p.Session)
		h.wantAnswer(p, outcome.Failed, "reason", FromLocal)
		if n := h.reg.Counters().LaterCauses; n != 1 {
			h.t.Fatal(n)
		}
	},
	"§4 SUCCEEDED needs verdict OK of all that count": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.wantOutcome(p, outcome.Active)
		h.ok(h.report(p, "b", OK))
		h.wantOutcome(p, outcome.Succeeded)
	},
	"§4 a failed result that counts fails at once": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.publish(p)
		h.ok(h.report(p, "b", Failed))
		h.wantAnswer(p, outcome.Failed, CauseFailed, FromPeer)
	},
	"§4 fewer than N candidates that can still deliver fail it": func(h *harness) {
		p := h.counted(1, 2, "a", "b", "c")
		h.publish(p)
		h.fence("a", Passive)
		h.wantOutcome(p, outcome.Active)
		h.fence("b", Passive)
		h.wantAnswer(p, outcome.Failed, CauseFenced, FromLocal)
	},
	"§4 a doubt that moves a claim fails an ACTIVE piece": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", InDoubt))
		h.wantAnswer(p, outcome.Failed, CauseDoubt, FromPeer)
	},
	"§4 a piece already SUCCEEDED keeps its outcome in doubt": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.report(p, "a", InDoubt))
		h.wantOutcome(p, outcome.Succeeded)
		h.wantDrained(p, false)
	},
	"§4 origins: an operation is local, a gone incarnation peer, expiry timeout": func(h *harness) {
		p, q, r := h.open(1, Send, "a"), h.open(2, Receive, "b"), h.open(3, Receive, "c")
		h.publish(p)
		h.operate(p, "a", operation.StatusSubmitting, operation.StatusError)
		h.wantAnswer(p, outcome.Failed, CauseDoubt, FromLocal)
		h.publish(q)
		h.publish(r)
		h.ok(h.reg.Gone(0, "b", h.member("b").Incarnation))
		h.wantAnswer(q, outcome.Failed, CauseDoubt, FromPeer)
		h.operate(p, "a", operation.StatusDone)
		h.fence("b", Passive)
		h.tick(5 * second)
		h.wantAnswer(r, outcome.Failed, CauseTimeout, FromTimeout)
	},
	"§4 not_submitted has a cause of its own": func(h *harness) {
		p := h.open(1, Send, "a")
		h.publish(p)
		h.operate(p, "a", operation.StatusSubmitting, operation.StatusNotSubmitted)
		h.wantAnswer(p, outcome.Failed, CauseNotSubmitted, FromLocal)
		h.wantClaims(p, claim.SafeUnpublished)
	},
	"§4 released at close, once, never by itself, and everything is stale after it": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.report(p, "a", OK))
		h.ok(h.reg.Complete(0, p.Session))
		h.tick(60 * second)
		h.wantDrained(p, true)
		h.ok(h.reg.Close(h.now, p.Session))
		if h.effects("piece origin/1@1:p: released") != 1 {
			h.t.Fatal(h.log)
		}
		h.ok(h.reg.Close(h.now, p.Session))
		if len(h.log) != 0 {
			h.t.Fatal(h.log)
		}
		h.want(ErrStale)(h.report(p, "a", OK))
	},
}
