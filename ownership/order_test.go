// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// numbers of the requests of a list, in its order.
func numbers[T any](list []T, of func(T) SessionName) (out []uint64) {
	for _, x := range list {
		out = append(out, of(x).Request.Number)
	}
	return out
}

// TestOrderOfAdmission: what goes over all sessions goes in the order in which they were
// admitted, which is not that of their names.
func TestOrderOfAdmission(t *testing.T) {
	order := []uint64{7, 3, 12, 9, 1, 10, 4, 8, 2}
	h := newHarness(t)
	for _, n := range order {
		h.publish(h.open(n, Receive, "a"))
	}
	if got := numbers(h.reg.Retained(), func(r Retained) SessionName { return r.Piece.Session }); !slices.Equal(got, order) {
		t.Errorf("retained are %v, want %v", got, order)
	}
	effects, err := h.reg.Stop(0)
	h.want(ErrRefused)(effects, err)
	var ended []*SessionEnded
	for _, e := range effects {
		if e, ok := e.(*SessionEnded); ok {
			ended = append(ended, e)
		}
	}
	if got := numbers(ended, func(e *SessionEnded) SessionName { return e.Session }); !slices.Equal(got, order) {
		t.Errorf("stop ended %v, want %v", got, order)
	}
}

// TestStopListsMessages: the messages that make stop refuse are listed by accessor, and
// those of one in the order in which they go.
func TestStopListsMessages(t *testing.T) {
	h := newHarness(t)
	names := []Accessor{"m", "c", "z", "a", "q", "f"}
	for n, a := range names {
		h.cancel(h.open(uint64(n+1), Send, a).Session)
	}
	effects, err := h.reg.Stop(0)
	h.want(ErrRefused)(effects, err)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	slices.Sort(names)
	var got, want []string
	for _, r := range e.Retained {
		got = append(got, r.Why)
	}
	for _, a := range names {
		want = append(want, fmt.Sprintf("CANCEL_SESSION waits for %s", a), fmt.Sprintf("SESSION_QUIESCED waits for %s", a))
	}
	if !slices.Equal(got, want) {
		t.Errorf("retained are %q, want %q", got, want)
	}
}

// answersOnce are ends of a session that come after another session has ended: each is
// told once, and of the session that it is of.
var answersOnce = sentences{
	"a cancel after a success": func(h *harness) {
		h.ended(1, outcome.Succeeded)
		h.cancel(h.open(2, Send, "a").Session)
		h.wantEnds(1)
	},
	"a cancel after a success that is owned": func(h *harness) {
		p, q := h.open(1, Send, "b"), h.open(2, Send, "a")
		h.publish(p)
		h.operate(p, "b", operation.StatusSubmitting, operation.StatusDone)
		h.ok(h.reg.Complete(0, p.Session))
		h.wantEnds(1)
		h.cancel(q.Session)
		h.wantEnds(1)
	},
	"a cancel after a failure": func(h *harness) {
		p, q := h.open(1, Receive, "a"), h.open(2, Receive, "b")
		h.ok(h.reg.Fail(0, q.Session, "test"))
		h.cancel(p.Session)
		h.wantEnds(1)
		h.wantAnswer(p, outcome.Cancelled, CauseCancel, FromLocal)
	},
	"a stop after a success": func(h *harness) {
		p := h.open(1, Send, "b")
		h.publish(p)
		h.open(2, Send, "a")
		h.operate(p, "b", operation.StatusSubmitting, operation.StatusDone)
		h.ok(h.reg.Complete(0, p.Session))
		h.wantEnds(1)
		h.want(ErrRefused)(h.reg.Stop(0)) // messages wait
		h.wantEnds(1)
	},
	"a stop after an acknowledgement that came to nothing": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ack(p.Session, "a")
		before := h.reg.Counters().Ignored
		h.ok(h.reg.Stop(0))
		h.wantEnds(1)
		if n := h.reg.Counters().Ignored; n != before {
			h.t.Errorf("%d are ignored, %d before", n, before)
		}
	},
	"a cancel after an acknowledgement that came to nothing": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ack(p.Session, "a")
		before := h.reg.Counters().Ignored
		h.cancel(p.Session)
		if n := h.reg.Counters().Ignored; n != before {
			h.t.Errorf("%d are ignored, %d before", n, before)
		}
	},
	"a second reason for a piece is one later cause": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.FailPiece(0, p, "first"))
		if n := h.reg.Counters().LaterCauses; n != 0 {
			h.t.Errorf("%d later causes", n)
		}
		h.ok(h.reg.FailPiece(0, p, "second"))
		if n := h.reg.Counters().LaterCauses; n != 1 {
			h.t.Errorf("%d later causes", n)
		}
		h.wantAnswer(p, outcome.Failed, "first", FromLocal)
	},
	"a piece that ends with its session is told once": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.more(p, "q", Receive, "b")
		h.ok(h.reg.FailPiece(0, p, "why"))
		h.wantEnds(1)
		if n := h.effects("piece "); n != 2 {
			h.t.Errorf("%q", h.log)
		}
	},
}

// wantEnds wants the last call to have ended so many sessions.
func (h *harness) wantEnds(n int) {
	h.t.Helper()
	got := 0
	for _, line := range h.log {
		if ended := regexp.MustCompile("^session .*: (SUCCEEDED|FAILED|CANCELLED)").MatchString(line); ended {
			got++
		}
	}
	if got != n {
		h.t.Fatalf("%d sessions ended, want %d: %q", got, n, h.log)
	}
}

func TestEndsAreToldOnce(t *testing.T) { answersOnce.run(t) }
