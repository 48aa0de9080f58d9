// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// requested is a REQUEST_DATA of a peer.
func (h *harness) requested(s SessionName, a Accessor) {
	h.t.Helper()
	h.ok(h.reg.Requested(h.now, s, h.member(a)))
}

// ended opens a send session and ends it with an answer.
func (h *harness) ended(n uint64, how outcome.State) {
	h.t.Helper()
	p := h.open(n, Send, "b")
	switch how {
	case outcome.Succeeded:
		h.publish(p)
		h.operate(p, "b", operation.StatusSubmitting, operation.StatusDone)
		h.ok(h.reg.Complete(h.now, p.Session))
		h.deliver("b")
	case outcome.Failed:
		h.ok(h.reg.Fail(h.now, p.Session, "test"))
	}
	h.deliver("b")
	h.ok(h.reg.Close(h.now, p.Session))
}

var answers = sentences{
	"§8 a request for what SUCCEEDED is not answered": func(h *harness) {
		h.ended(1, outcome.Succeeded)
		h.requested(sessionNamed(1, 1), "a")
		h.wantTold("a")
	},
	"§8 a request for what FAILED is answered": func(h *harness) {
		h.ended(1, outcome.Failed)
		h.requested(sessionNamed(1, 1), "a")
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.requested(sessionNamed(1, 1), "a")
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 a request for an attempt that a later one passed is answered": func(h *harness) {
		h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 3), Side: Send}))
		h.requested(sessionNamed(1, 2), "a")
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 kept requests for earlier attempts are answered when a later one is admitted": func(h *harness) {
		h.requested(sessionNamed(1, 2), "a")
		h.requested(sessionNamed(1, 3), "b")
		h.requested(sessionNamed(1, 4), "c")
		h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 3), Side: Send}))
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.wantTold("b")
		h.wantTold("c")
		if n := h.reg.Counters().Requests; n != 1 {
			h.t.Fatalf("%d requests are kept", n)
		}
	},
	"§8 what one asked is answered in the order of the requests": func(h *harness) {
		for _, n := range []uint64{5, 2, 9, 1, 7, 3} {
			h.requested(sessionNamed(n, 1), "a")
		}
		h.ok(h.reg.Watermark(0, "origin", 8))
		var got []uint64
		for _, m := range h.reg.Waiting("a") {
			if _, cancel := m.Message.(*CancelSession); cancel {
				got = append(got, m.Message.Session().Request.Number)
			}
		}
		if want := []uint64{1, 2, 3, 5, 7}; !slices.Equal(got, want) {
			h.t.Fatalf("answered are %v, want %v", got, want)
		}
		if n := h.reg.Counters().Requests; n != 1 {
			h.t.Fatalf("%d requests are kept", n)
		}
	},
	"§7 a watermark goes up only, and to more than nothing": func(h *harness) {
		h.ok(h.reg.Watermark(0, "origin", 0))
		h.ok(h.reg.Watermark(0, "origin", 5))
		h.admit(ErrClosed, sessionNamed(4, 1))
		h.ok(h.reg.Watermark(0, "origin", 3))
		h.admit(ErrClosed, sessionNamed(4, 1))
		h.admit(nil, sessionNamed(5, 1))
		h.ok(h.reg.Watermark(0, "origin", 6))
		if n := h.reg.Counters(); n.Records != 1 {
			h.t.Fatalf("%d records", n.Records) // it is owned yet
		}
		h.ok(h.reg.Fail(0, sessionNamed(5, 1), "test"))
		h.ok(h.reg.Close(0, sessionNamed(5, 1)))
		if n := h.reg.Counters(); n.Records != 0 {
			h.t.Fatalf("%d records", n.Records)
		}
	},
	"§7 a fence retires the tombstones that the fenced life asked for itself": func(h *harness) {
		ask := func(n uint64, life byte) {
			_, effects, err := h.reg.Cancel(0, CancelSpec{Session: sessionNamed(n, 1), Origin: FromPeer, From: Member{Accessor: "origin", Incarnation: Incarnation{life}}, FromSide: Receive})
			h.ok(effects, err)
		}
		ask(1, 7)
		ask(2, 8)
		h.cancelFrom(sessionNamed(3, 1), "a", Receive)
		h.cancel(sessionNamed(4, 1))
		h.ok(h.reg.Fence(0, FenceSpec{Accessor: "origin", Incarnation: Incarnation{7}, Scope: Own}))
		h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Scope: All}))
		if n := h.reg.Counters().Tombstones; n != 4 {
			h.t.Fatalf("%d tombstones", n)
		}
		h.ok(h.reg.Fence(0, FenceSpec{Accessor: "origin", Incarnation: Incarnation{7}, Scope: All}))
		born := func(n uint64) outcome.State {
			h.admit(nil, sessionNamed(n, 1))
			s, _ := h.reg.Session(sessionNamed(n, 1))
			return s.Outcome
		}
		if born(2) != outcome.Cancelled {
			h.t.Fatal("a tombstone of another life is retired")
		}
		if born(1) != outcome.Active {
			h.t.Fatal("the tombstone of the fenced life is not retired")
		}
	},
	"§3 a fence takes back what waits for the fenced life alone": func(h *harness) {
		old := h.member("a")
		h.requested(sessionNamed(1, 1), "a")
		h.ok(h.reg.Watermark(0, "origin", 2))
		h.lives["a"]++
		h.ok(h.reg.Requested(0, SessionName{RequestID{"origin", 1}, 1}, h.member("a")))
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Incarnation: old.Incarnation, Scope: All}))
		if h.effects("outbox") != 2 || !strings.Contains(h.log[0], "taken back CANCEL_SESSION") {
			h.t.Fatalf("%q", h.log)
		}
		for _, m := range h.reg.Waiting("a") {
			if m.To != h.member("a") {
				h.t.Fatalf("%v waits for %v", m.Message, m.To)
			}
		}
	},
	"§3 a fence forgets the kept requests of the fenced life alone": func(h *harness) {
		old := h.member("a")
		h.requested(sessionNamed(1, 1), "a")
		h.requested(sessionNamed(1, 1), "b")
		h.lives["a"]++
		h.requested(sessionNamed(1, 1), "a")
		h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Incarnation: old.Incarnation, Scope: All}))
		if n := h.reg.Counters().Requests; n != 2 {
			h.t.Fatalf("%d requests are kept", n)
		}
	},
	"§8 an acknowledgement of another life of an accessor is stale": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.cancel(p.Session)
		h.want(ErrStale)(h.reg.Ack(0, p.Session, Member{Accessor: "a", Incarnation: Incarnation{99}}))
		if n := h.reg.Counters(); n.Stale != 1 || n.Conflicts != 0 {
			h.t.Fatalf("%+v", n)
		}
		h.wantClaims(p, claim.Published)
	},
	"§4 later causes are counted and change nothing": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Fail(0, p.Session, "first"))
		before := h.reg.Counters().LaterCauses
		h.ok(h.report(p, "a", InDoubt))
		if n := h.reg.Counters().LaterCauses; n <= before {
			h.t.Fatalf("%d later causes, %d before", n, before)
		}
		h.wantAnswer(p, outcome.Failed, "first", FromLocal)
	},
	"§4 a cancel of a session without a number of attempt is of the newest": func(h *harness) {
		h.admit(nil, sessionNamed(1, 2))
		if r := h.cancel(SessionName{RequestID{"origin", 1}, 0}); r.Session != sessionNamed(1, 2) {
			h.t.Fatalf("%+v", r)
		}
		if r := h.cancel(SessionName{RequestID{"origin", 2}, 0}); r.Session != sessionNamed(2, 1) {
			h.t.Fatalf("%+v", r)
		}
		if r := h.cancel(SessionName{RequestID{"origin", 2}, 0}); r.Session != sessionNamed(2, 1) {
			h.t.Fatalf("%+v", r)
		}
	},
	"§7 an admission that is refused says why": func(h *harness) {
		h.admit(nil, sessionNamed(1, 1))
		_, err := h.reg.Admit(0, SessionSpec{Name: sessionNamed(1, 2), Side: Receive})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "attempt origin/1@1 is ACTIVE") {
			h.t.Fatal(err)
		}
		p := h.open(2, Receive, "a")
		_, _, err = h.reg.AddPiece(0, PieceSpec{Name: PieceName{p.Session, "q"}, Region: h.state(p).Region, Cohort: h.cohort(Receive, "a")})
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindRefused || !strings.Contains(err.Error(), "piece origin/2@1:q") || len(e.Retained) != 1 || e.Retained[0].Piece != p {
			h.t.Fatal(err)
		}
		h.ok(h.reg.Fail(0, p.Session, "over"))
		h.ok(h.reg.Close(0, p.Session))
		if _, err = h.reg.Admit(0, SessionSpec{Name: p.Session, Side: Receive}); !errors.Is(err, ErrReject) || !strings.Contains(err.Error(), "was used") {
			h.t.Fatal(err)
		}
		h.admit(nil, sessionNamed(3, 5))
		if _, err = h.reg.Admit(0, SessionSpec{Name: sessionNamed(3, 4), Side: Receive}); !errors.Is(err, ErrReject) || !strings.Contains(err.Error(), "a later attempt") {
			h.t.Fatal(err)
		}
	},
	"§5 a session of many pieces finds each by its name": func(h *harness) {
		p := h.open(1, Receive, "a")
		names := []PieceName{p}
		for i := range 3*manyPieces - 1 {
			names = append(names, h.more(p, fmt.Sprint(i), Receive, "a"))
		}
		for _, name := range names {
			_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: name, Region: "R", Cohort: h.cohort(Receive, "a")})
			h.want(ErrInvalidArgument)(effects, err) // its region is not known
			if err := h.reg.AddRegion(RegionSpec{ID: "R" + name.Piece}); err != nil {
				h.t.Fatal(err)
			}
			_, effects, err = h.reg.AddPiece(0, PieceSpec{Name: name, Region: "R" + name.Piece, Cohort: h.cohort(Receive, "a")})
			h.want(ErrReject)(effects, err)
		}
		h.publish(names...)
		for _, name := range names {
			h.ok(h.report(name, "a", OK))
		}
		h.ok(h.reg.Complete(0, p.Session))
		h.wantAnswer(p, outcome.Succeeded, "", NoOrigin)
	},
	"§6 what is in doubt is listed in the order of names and lives": func(h *harness) {
		for i, a := range []Accessor{"z", "a", "m"} {
			h.doubtedOpen(uint64(i+1), a)
		}
		var got []Accessor
		for _, d := range h.reg.Doubts() {
			got = append(got, d.Accessor)
		}
		if !slices.Equal(got, []Accessor{"a", "m", "z"}) {
			h.t.Fatalf("%v", got)
		}
	},
	"§7 what one accessor holds moves in the order of admission": func(h *harness) {
		var pieces []PieceName
		for _, n := range []uint64{5, 1, 4, 2, 3} {
			p := h.open(n, Receive, "a", Accessor(fmt.Sprint("other", n%2)))
			h.publish(p)
			pieces = append(pieces, p)
		}
		h.fence("a", All)
		var got []PieceName
		for _, line := range h.log {
			if strings.HasPrefix(line, "claim ") {
				for _, p := range pieces {
					if strings.HasPrefix(line, "claim "+p.String()+" of a ") {
						got = append(got, p)
					}
				}
			}
		}
		if !slices.Equal(got, pieces) {
			h.t.Fatalf("fenced are %v, want %v", got, pieces)
		}
	},
}

func (h *harness) doubtedOpen(n uint64, a Accessor) {
	h.t.Helper()
	p := h.open(n, Receive, a)
	h.publish(p)
	h.ok(h.report(p, a, InDoubt))
	h.ok(h.reg.Reopen(0))
}

func TestRecords(t *testing.T) { answers.run(t) }
