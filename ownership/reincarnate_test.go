// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// §3: in another life of the endpoint pieces have names of their own, what is owned
// keeps those that it has, and evidence of one never reaches the other.
func TestReincarnationSplitsNames(t *testing.T) {
	h := newHarness(t)
	old := h.open(1, Receive, "a")
	h.publish(old)
	oldClaim := h.claims[old][0]
	h.want(ErrInvalidArgument)(h.reg.Reincarnate(0, Incarnation{}))
	h.want(ErrInvalidArgument)(h.reg.Reincarnate(0, Incarnation{1})) // the present one
	h.ok(h.reg.Reincarnate(0, Incarnation{2}))
	if s, _ := h.reg.Session(old.Session); s.Outcome != outcome.Failed || s.Cause != CauseReincarnated || s.Origin != FromLocal || s.Pieces[0].Claims[0].Name != oldClaim {
		t.Fatalf("the session of the old life is %+v", s)
	}

	fresh := h.open(2, Receive, "a")
	h.publish(fresh)
	claim := h.claims[fresh][0]
	if claim.Owner != (Incarnation{2}) || claim.Sequence <= oldClaim.Sequence {
		t.Fatalf("claim %+v follows %+v", claim, oldClaim)
	}
	wrong := claim
	wrong.Owner = Incarnation{1}
	h.want(ErrStale)(h.reg.Report(0, PeerReport{Claim: wrong, From: "a", Evidence: OK}))
	wrong = oldClaim
	wrong.Owner = Incarnation{2}
	h.want(ErrStale)(h.reg.Report(0, PeerReport{Claim: wrong, From: "a", Evidence: OK}))

	// Proof under the old name still frees what has it, and nothing else.
	h.want(ErrRefused)(h.reg.Close(0, old.Session))
	h.ok(h.reg.Ack(0, old.Session, h.member("a")))
	h.ok(h.reg.Close(0, old.Session))
	h.ok(h.reg.Report(0, PeerReport{Claim: claim, From: "a", Evidence: OK}))
	h.ok(h.reg.Complete(0, fresh.Session))
	h.ok(h.reg.Close(0, fresh.Session))
	if list := h.reg.Retained(); len(list) != 0 {
		t.Fatalf("retained: %+v", list)
	}
}

// A fence of what our own agent posted reaches the claims of every life, and what it
// does not reach is listed.
func TestFenceReachesClaimsOfTheOldLife(t *testing.T) {
	h := newHarness(t)
	sent, received := h.open(1, Send, "a"), h.open(2, Receive, "a")
	h.publish(sent)
	h.publish(received)
	h.ok(h.reg.Operation(0, OperationReport{h.claims[sent][0], operation.StatusSubmitting}))
	h.ok(h.reg.Reincarnate(0, Incarnation{2}))
	if list := h.reg.Retained(); len(list) != 2 {
		t.Fatalf("retained: %+v", list)
	}
	h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Scope: Own}))
	h.ok(h.reg.Close(0, sent.Session))
	if list := h.reg.Retained(); len(list) != 1 || list[0].Piece != received || list[0].Accessor != "a" {
		t.Fatalf("retained: %+v", list)
	}
	// A life that is gone stays gone for the new life as well.
	h.ok(h.reg.Gone(0, "a", h.member("a").Incarnation))
	h.ok(h.reg.Reopen(0))
	h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(3, 1), Side: Receive}))
	if err := h.reg.AddRegion(RegionSpec{ID: "new"}); err != nil {
		t.Fatal(err)
	}
	_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: PieceName{sessionNamed(3, 1), "x"}, Region: "new", Cohort: h.cohort(Receive, "a")})
	h.want(ErrStale)(effects, err)
	h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Scope: All}))
	h.ok(h.reg.Close(0, received.Session))
}

func TestNoOtherLifeAfterFatal(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	h.publish(p)
	h.ok(h.reg.Fail(0, p.Session, "test"))
	h.ok(h.reg.Tick(6 * second))
	h.want(ErrFatal)(h.reg.Reincarnate(6*second, Incarnation{2}))
}

// TestReincarnateKnowsItsVisitors: a peer that asks for data of a session of the
// former life is the member that the session has.
func TestReincarnateKnowsItsVisitors(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Send, "a")
	h.ok(h.reg.Requested(h.now, p.Session, h.member("a")))
	h.ok(h.reg.Reincarnate(h.now, Incarnation{2}))
	h.ok(h.reg.Requested(h.now, p.Session, h.member("a")))
	if got, want := h.labels("a"), []string{"CANCEL_SESSION", "SESSION_QUIESCED"}; !slices.Equal(got, want) {
		t.Fatalf("a is told %v, want %v", got, want)
	}
}
