// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/kvxfer/kvxfer/gen/outcome"
)

func (h *harness) wantRecords(n int) {
	h.t.Helper()
	if got := h.reg.Counters().Records; got != n {
		h.t.Fatalf("%d requests are remembered, want %d", got, n)
	}
}

// attempts admits attempts of request 1 that are over and owned; each has a published
// piece of a.
func (h *harness) attempts(list ...uint32) (pieces []PieceName) {
	h.t.Helper()
	for _, a := range list {
		s := sessionNamed(1, a)
		h.admit(nil, s)
		p := h.piece(PieceSpec{Name: PieceName{s, "p"}, Cohort: h.cohort(Receive, "a")})
		h.publish(p)
		h.ok(h.reg.Fail(h.now, s, "over"))
		pieces = append(pieces, p)
	}
	return pieces
}

func (h *harness) proveAndClose(pieces ...PieceName) {
	h.t.Helper()
	for _, p := range pieces {
		h.ok(h.report(p, "a", Failed))
		h.ok(h.reg.Close(h.now, p.Session))
	}
}

var attempts = sentences{
	"§5 a request is remembered below the watermark while any attempt of it is owned": func(h *harness) {
		p := h.attempts(1, 2, 5, 7)
		h.proveAndClose(p[3], p[2])
		h.ok(h.reg.Watermark(0, "origin", 2))
		h.wantRecords(1)
		h.proveAndClose(p[0])
		h.wantRecords(1)
		h.proveAndClose(p[1])
		h.wantRecords(0)
	},
	"§5 whichever attempt closes last": func(h *harness) {
		p := h.attempts(1, 2, 5)
		h.ok(h.reg.Watermark(0, "origin", 2))
		h.proveAndClose(p[0], p[1])
		h.wantRecords(1)
		h.proveAndClose(p[2])
		h.wantRecords(0)
	},
	"§3 each attempt is found by its number, and stop finds all": func(h *harness) {
		p := h.attempts(2, 3, 9)
		for _, name := range p {
			if s, owned := h.reg.Session(name.Session); !owned || s.Pieces[0].Name != name {
				h.t.Fatalf("%v is %+v", name, s)
			}
		}
		for _, a := range []uint32{1, 4, 10} {
			if _, owned := h.reg.Session(sessionNamed(1, a)); owned {
				h.t.Fatalf("attempt %d is owned", a)
			}
		}
		if list := h.reg.Retained(); len(list) != 3 {
			h.t.Fatalf("%v", list)
		}
	},
	"§3 an earlier attempt that is ACTIVE refuses a later one": func(h *harness) {
		h.attempts(1)
		h.admit(nil, sessionNamed(1, 2))
		h.admit(ErrRefused, sessionNamed(1, 3))
	},
	"§7 the watermark is above nothing but what is below it": func(h *harness) {
		for n := range uint64(7) {
			h.cancel(sessionNamed(n, 1))
		}
		for n := range uint64(7) {
			h.ok(h.reg.Watermark(0, "origin", n+1))
			if left := h.reg.Counters().Tombstones; left != int(6-n) {
				h.t.Fatalf("%d tombstones are left below %d", left, n+1)
			}
			h.admit(ErrClosed, sessionNamed(n, 1))
		}
	},
	"§7 a tombstone at the watermark stays": func(h *harness) {
		for _, n := range []uint64{5, 3, 4} {
			h.cancel(sessionNamed(n, 1))
		}
		h.ok(h.reg.Watermark(0, "origin", 4))
		h.admit(ErrClosed, sessionNamed(3, 1))
		for _, n := range []uint64{4, 5} {
			h.admit(nil, sessionNamed(n, 1))
			if s, _ := h.reg.Session(sessionNamed(n, 1)); s.Outcome != outcome.Cancelled {
				h.t.Errorf("request %d is %v", n, s.Outcome)
			}
		}
	},
	"§7 a cancel of a closed attempt that a tombstone covers changes nothing": func(h *harness) {
		h.cancel(sessionNamed(1, 1))
		h.admit(nil, sessionNamed(1, 1)) // receives, and is CANCELLED from birth
		h.ok(h.reg.Close(0, sessionNamed(1, 1)))
		if r := h.cancelFrom(sessionNamed(1, 1), "a", Receive); r.Outcome != outcome.Cancelled || r.Physical != PhysicalRetired {
			h.t.Errorf("%+v", r)
		}
		h.wantTold("a") // a receiver has nothing to answer
	},
}

func TestAttempts(t *testing.T) { attempts.run(t) }
