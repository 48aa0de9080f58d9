// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

func (h *harness) wantKept(n int) {
	h.t.Helper()
	if got := h.reg.Counters().Requests; got != n {
		h.t.Fatalf("%d requests are kept, want %d", got, n)
	}
}

var messages = sentences{
	"§8 what a former life asked for stays while there is room": func(h *harness) {
		h.requested(sessionNamed(1, 1), "a")
		h.lives["a"]++
		h.requested(sessionNamed(2, 1), "a")
		h.wantKept(2)
	},
	"§8 a fence forgets the requests of the life that it names, and of nobody else": func(h *harness) {
		old := h.member("a")
		for n, a := range []Accessor{"a", "b"} {
			h.requested(sessionNamed(uint64(n+1), 1), a)
		}
		h.lives["a"]++
		h.requested(sessionNamed(3, 1), "a")
		h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Incarnation: old.Incarnation, Scope: Own}))
		h.wantKept(2)
		h.ok(h.reg.Watermark(0, "origin", 4)) // answers those that are kept
		h.wantTold("b", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
		for _, m := range h.reg.Waiting("a") {
			if m.To != h.member("a") || m.Message.Session() != sessionNamed(3, 1) {
				h.t.Errorf("%v is for %v", m.Message, m.To)
			}
		}
	},
	"§8 a fence of all lives forgets the requests of each": func(h *harness) {
		h.requested(sessionNamed(1, 1), "a")
		h.lives["a"]++
		h.requested(sessionNamed(1, 1), "a")
		h.requested(sessionNamed(1, 1), "b")
		h.fence("a", Own)
		h.wantKept(1)
	},
	"§8 a fence that proves our memory only forgets no request": func(h *harness) {
		h.requested(sessionNamed(1, 1), "a")
		h.fence("a", Passive)
		h.wantKept(1)
	},
	"§8 a request for what SUCCEEDED is neither answered nor kept, and a cancel of it is answered": func(h *harness) {
		h.ended(1, outcome.Succeeded)
		h.requested(sessionNamed(1, 1), "a")
		h.wantKept(0)
		h.wantTold("a")
		h.cancelFrom(sessionNamed(1, 1), "a", Receive)
		h.wantTold("a", "SESSION_QUIESCED")
	},
	"§8 what answers a request says that it is the sender's, and goes with what a sender said": func(h *harness) {
		h.ended(1, outcome.Failed)
		h.requested(sessionNamed(1, 1), "a")
		if m, _ := h.reg.Peek("a"); *m.Message.(*CancelSession) != (CancelSession{sessionNamed(1, 1), Send}) {
			h.t.Errorf("%v", m.Message)
		}
		h.fence("a", Passive)
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
		h.fence("a", Own)
		h.wantTold("a")
	},
	"§8 an answer is for a life of an accessor, whatever sequence it came with": func(h *harness) {
		from := h.member("a")
		from.Sequence = 7
		h.ended(1, outcome.Failed)
		h.ok(h.reg.Requested(0, sessionNamed(1, 1), from))
		_, effects, err := h.reg.Cancel(0, CancelSpec{Session: sessionNamed(2, 1), Origin: FromPeer, From: from, FromSide: Receive})
		h.ok(effects, err)
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED", "SESSION_QUIESCED")
		for _, m := range h.reg.Waiting("a") {
			if m.To != h.member("a") {
				h.t.Errorf("%v is for %+v", m.Message, m.To)
			}
		}
	},
	"§8 an acknowledgement of nobody's life is ignored, and counted, in a session without pieces": func(h *harness) {
		h.admit(nil, sessionNamed(1, 1))
		h.ack(sessionNamed(1, 1), "x")
		if n := h.reg.Counters(); n.Ignored != 1 || n.Conflicts != 0 {
			h.t.Errorf("%+v", n)
		}
	},
	"§8 an acknowledgement of another life of an accessor is stale, in an ACTIVE session too": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.lives["a"]++
		h.want(ErrStale)(h.reg.Ack(0, p.Session, h.member("a")))
	},
	"§8 an acknowledgement of an ACTIVE session comes to nothing, and its end is told later": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.ack(p.Session, "a") // the session has a list of its members from now on
		h.publish(p)
		h.cancel(p.Session)
		h.wantTold("a", "CANCEL_SESSION")
	},
	"§8 SESSION_QUIESCED is taken back while it waits, though messages before it have left": func(h *harness) {
		p := h.submitted(1, "a")
		h.cancel(p.Session)
		h.operate(p, "a", operation.StatusDone)
		h.wantTold("a", "CANCEL_SESSION", "OK", "SESSION_QUIESCED")
		first, _ := h.reg.Peek("a")
		if !h.reg.Delivered("a", first.Number) {
			h.t.Fatal("not delivered")
		}
		h.operate(p, "a", operation.StatusError)
		h.wantTold("a", "OK", "IN_DOUBT")
	},
}

// unread are sentences on an accessor in whose share of the outbox, of two messages, two
// wait, and nobody else's.
var unread = map[string]func(h *harness){
	"§7 a piece that names it is not taken in": func(h *harness) {
		h.admit(nil, sessionNamed(9, 1))
		h.addPiece(ErrCapacity, sessionNamed(9, 1), "b", "a")
		h.addPiece(nil, sessionNamed(9, 1), "c", "b")
	},
	"§8 its cancel of what is owned is taken in, and answered": func(h *harness) {
		h.cancelFrom(sessionNamed(2, 1), "a", Receive)
		h.wantTold("a", "CANCEL_SESSION", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"§8 its cancel of what is closed would have to be answered at once": func(h *harness) {
		_, effects, err := h.reg.Cancel(0, CancelSpec{Session: sessionNamed(3, 1), Origin: FromPeer, From: h.member("a"), FromSide: Receive})
		h.want(ErrCapacity)(effects, err)
		h.wantTold("a", "CANCEL_SESSION", "CANCEL_SESSION")
	},
}

func TestUnread(t *testing.T) {
	for name, check := range unread {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(c *Config) { c.PeerOutbox = 2 })
			h.ended(3, outcome.Failed)
			h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(2, 1), Side: Send}))
			for _, p := range []PieceName{h.open(4, Receive, "a"), h.open(5, Receive, "a")} {
				h.publish(p)
				h.cancel(p.Session)
			}
			h.wantTold("a", "CANCEL_SESSION", "CANCEL_SESSION")
			check(h)
		})
	}
}

func TestMessages(t *testing.T) { messages.run(t) }
