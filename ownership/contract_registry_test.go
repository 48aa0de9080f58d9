// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

func TestContractRegistry(t *testing.T) {
	registryQuarantine.run(t)
	registryRoots.run(t)
	registryTombstones.run(t)
	registryCancel.run(t)
}

func (h *harness) doubted(n uint64, a Accessor) PieceName {
	h.t.Helper()
	p := h.open(n, Receive, a)
	h.publish(p)
	h.ok(h.report(p, a, InDoubt))
	return p
}

// scoped is a harness with another scope of the quarantine.
func (h *harness) scoped(q Quarantine) *harness {
	return newHarness(h.t, func(c *Config) { c.Quarantine = q })
}

func (h *harness) admit(want error, name SessionName) {
	h.t.Helper()
	h.want(want)(h.reg.Admit(h.now, SessionSpec{Name: name, Side: Receive}))
}

func (h *harness) addPiece(want error, s SessionName, cohort ...Accessor) {
	h.t.Helper()
	id := "R" + s.String() + string(cohort[0])
	if err := h.reg.AddRegion(RegionSpec{ID: id}); err != nil {
		h.t.Fatal(err)
	}
	_, effects, err := h.reg.AddPiece(h.now, PieceSpec{Name: PieceName{s, "p of " + string(cohort[0])}, Region: id, Cohort: h.cohort(Receive, cohort...)})
	h.want(want)(effects, err)
}

var registryQuarantine = sentences{
	"§7 in quarantine sessions and pieces are closed, pieces admitted before are sealed": func(h *harness) {
		p := h.open(1, Receive, "b")
		h.doubted(2, "a")
		h.wantAdmission(AdmissionQuarantined)
		h.admit(ErrClosed, sessionNamed(3, 1))
		h.addPiece(ErrClosed, p.Session, "c")
		h.publish(p)
	},
	"§7 a fence strikes the accessor out unless a claim that its scope did not reach is in doubt": func(h *harness) {
		h.doubted(1, "a")
		h.fence("a", Own) // reaches no memory of ours
		h.wantAdmission(AdmissionQuarantined)
		h.fence("a", Passive)
		h.wantAdmission(AdmissionOpen)
	},
	"§7 an operator's reopen strikes all": func(h *harness) {
		h.doubted(1, "a")
		h.ok(h.reg.Reopen(0))
		h.wantAdmission(AdmissionOpen)
		h.ok(h.reg.Reopen(0))
		h.admit(nil, sessionNamed(3, 1))
	},
	"§7 settlement alone strikes nobody out": func(h *harness) {
		p := h.doubted(1, "a")
		h.ok(h.report(p, "a", FailedQuiesced))
		h.wantDrained(p, true)
		h.wantAdmission(AdmissionQuarantined)
	},
	"§7 scope accessor closes only pieces that name a remembered accessor": func(h *harness) {
		h = h.scoped(QuarantineAccessor)
		h.doubted(1, "a")
		h.wantAdmission(AdmissionQuarantined)
		h.admit(nil, sessionNamed(2, 1))
		h.addPiece(nil, sessionNamed(2, 1), "b")
		h.addPiece(ErrClosed, sessionNamed(2, 1), "c", "a")
	},
	"§7 scope accessor: while local is remembered everything is closed": func(h *harness) {
		h = h.scoped(QuarantineAccessor)
		h.admit(nil, sessionNamed(2, 1))
		p := h.scattering(1, Send, "a")
		h.ok(h.local(p, LocalStart))
		h.ok(h.local(p, LocalDoubt))
		h.admit(ErrClosed, sessionNamed(3, 1))
		h.addPiece(ErrClosed, sessionNamed(2, 1), "b")
	},
	"§7 scope off remembers nothing, the doubt itself is the same": func(h *harness) {
		h = h.scoped(QuarantineOff)
		p := h.doubted(1, "a")
		h.wantAdmission(AdmissionOpen)
		if s := h.reg.Snapshot(); len(s.Doubted) != 0 {
			h.t.Fatal(s.Doubted)
		}
		h.wantAnswer(p, outcome.Failed, CauseDoubt, FromPeer)
		if s, _ := h.reg.Session(p.Session); !s.Draining {
			h.t.Fatal("no clock runs")
		}
	},
}

var registryRoots = sentences{
	"§7 no root goes while it is owned, and the error names the claims": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		g := h.state(p).Region
		for _, call := range []func() (Effects, error){
			func() (Effects, error) { return h.reg.Reuse(0, g) },
			func() (Effects, error) { return h.reg.Deregister(0, g) },
			func() (Effects, error) { return h.reg.RemoveRegion(0, g) },
		} {
			effects, err := call()
			h.want(ErrRefused)(effects, err)
			var e *Error
			if !errors.As(err, &e) || len(e.Retained) != 1 || e.Retained[0].Accessor != "a" || e.Retained[0].State != claim.Published {
				h.t.Fatalf("%v", err)
			}
		}
	},
	"§7 RETIRED is not permission to reuse, release is": func(h *harness) {
		p := h.open(1, Receive, "a")
		g := h.state(p).Region
		if r := h.cancel(p.Session); r.Physical != PhysicalRetired {
			h.t.Fatalf("%+v", r)
		}
		h.want(ErrRefused)(h.reg.Reuse(0, g))
		h.ok(h.reg.Close(0, p.Session))
		h.ok(h.reg.Reuse(0, g))
		if st, _ := h.reg.Region(g); st.Allocation != 2 {
			h.t.Fatalf("%+v", st)
		}
	},
	"§7 failed construction leaves nothing behind": func(h *harness) {
		h.admit(nil, sessionNamed(1, 1))
		before := h.reg.Snapshot().Counters
		_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: PieceName{sessionNamed(1, 1), "p"}, Region: "none", Cohort: h.cohort(Receive, "a")})
		h.want(ErrInvalidArgument)(effects, err)
		if after := h.reg.Snapshot().Counters; after != before {
			h.t.Fatalf("%+v, before %+v", after, before)
		}
	},
	"§7 reuse is judged by ownership alone, also under FATAL": func(h *harness) {
		free := h.open(1, Receive, "a")
		g := h.state(free).Region
		h.cancel(free.Session)
		h.ok(h.reg.Close(0, free.Session))
		h.publish(h.open(2, Receive, "a"))
		h.tick(60 * second)
		h.wantAdmission(AdmissionFatal)
		h.ok(h.reg.Reuse(h.now, g))
		h.ok(h.reg.Close(h.now, free.Session))
	},
}

var registryTombstones = sentences{
	"§7 a request that was cancelled before is CANCELLED from birth, however often, with the first origin": func(h *harness) {
		h.cancelFrom(sessionNamed(1, 1), "a", Receive)
		h.cancel(sessionNamed(1, 1))
		for range 2 {
			h.admit(nil, sessionNamed(1, 1))
			if s, _ := h.reg.Session(sessionNamed(1, 1)); s.Outcome != outcome.Cancelled || s.Origin != FromPeer {
				h.t.Fatalf("%+v", s)
			}
			h.ok(h.reg.Close(0, sessionNamed(1, 1)))
		}
	},
	"§7 a tombstone covers that attempt and all later ones, not earlier ones": func(h *harness) {
		h.cancel(sessionNamed(1, 2))
		h.admit(nil, sessionNamed(1, 1))
		if s, _ := h.reg.Session(sessionNamed(1, 1)); s.Outcome != outcome.Active {
			h.t.Fatal(s.Outcome)
		}
		h.ok(h.reg.Fail(0, sessionNamed(1, 1), "over"))
		h.admit(nil, sessionNamed(1, 3))
		if s, _ := h.reg.Session(sessionNamed(1, 3)); s.Outcome != outcome.Cancelled {
			h.t.Fatal(s.Outcome)
		}
	},
	"§7 time does not remove a tombstone, the watermark does": func(h *harness) {
		h.cancel(sessionNamed(1, 1))
		h.tick(1000 * second)
		if n := h.reg.Counters().Tombstones; n != 1 {
			h.t.Fatal(n)
		}
		h.ok(h.reg.Watermark(h.now, "origin", 2))
		if n := h.reg.Counters().Tombstones; n != 0 {
			h.t.Fatal(n)
		}
		h.admit(ErrClosed, sessionNamed(1, 1))
	},
	"§7 below the watermark a cancel leaves no tombstone and answers RETIRED": func(h *harness) {
		h.ok(h.reg.Watermark(0, "origin", 5))
		if r := h.cancel(sessionNamed(1, 1)); r.Physical != PhysicalRetired || r.Outcome != 0 || h.reg.Counters().Tombstones != 0 {
			h.t.Fatalf("%+v", r)
		}
	},
	"§7 the watermark never goes back": func(h *harness) {
		h.ok(h.reg.Watermark(0, "origin", 5))
		h.ok(h.reg.Watermark(0, "origin", 2))
		h.admit(ErrClosed, sessionNamed(4, 1))
	},
	"§7 the tombstone retires when its creator's incarnation is fenced": func(h *harness) {
		own := SessionName{RequestID{"a", 1}, 1}
		_, effects, err := h.reg.Cancel(0, CancelSpec{Session: own, Origin: FromPeer, From: h.member("a"), FromSide: Receive})
		h.ok(effects, err)
		h.fence("a", Own)
		if n := h.reg.Counters().Tombstones; n != 1 {
			h.t.Fatal(n)
		}
		h.fence("a", All)
		if n := h.reg.Counters().Tombstones; n != 0 {
			h.t.Fatal(n)
		}
	},
	"§7 full tombstones refuse the cancel and it is not acknowledged": func(h *harness) {
		h = newHarness(h.t, func(c *Config) { c.Tombstones = 1 })
		h.cancelFrom(sessionNamed(1, 1), "a", Receive)
		h.deliver("a")
		_, effects, err := h.reg.Cancel(0, CancelSpec{Session: sessionNamed(2, 1), Origin: FromPeer, From: h.member("a"), FromSide: Receive})
		h.want(ErrCapacity)(effects, err)
		h.wantTold("a")
	},
}

var registryCancel = sentences{
	"§7 a local cancel without an attempt means the newest admitted, or 1": func(h *harness) {
		if r := h.cancel(sessionNamed(7, 0)); r.Session != sessionNamed(7, 1) {
			h.t.Fatalf("%+v", r)
		}
		p := h.open(1, Receive, "a")
		h.ok(h.reg.Fail(0, p.Session, "over"))
		h.admit(nil, sessionNamed(1, 2))
		if r := h.cancel(sessionNamed(1, 0)); r.Session != sessionNamed(1, 2) || r.Outcome != outcome.Cancelled {
			h.t.Fatalf("%+v", r)
		}
	},
	"§7 a cancel of an attempt that is still owned answers its own outcome, whichever it is": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.ok(h.reg.Fail(0, p.Session, "over"))
		h.admit(nil, sessionNamed(1, 2))
		if r := h.cancel(sessionNamed(1, 1)); r.Outcome != outcome.Failed || r.Physical != PhysicalDraining {
			h.t.Fatalf("%+v", r)
		}
	},
	"§7 a cancel of an older attempt never admitted changes nothing and answers RETIRED": func(h *harness) {
		h.admit(nil, sessionNamed(1, 5))
		if r := h.cancel(sessionNamed(1, 2)); r.Outcome != 0 || r.Physical != PhysicalRetired || len(h.log) != 0 {
			h.t.Fatalf("%+v %v", r, h.log)
		}
	},
	"§7 physical state: IN_DOUBT, DRAINING, RETIRED": func(h *harness) {
		p := h.open(1, Receive, "a", "b")
		h.publish(p)
		if r := h.cancel(p.Session); r.Physical != PhysicalDraining {
			h.t.Fatalf("%+v", r)
		}
		h.ok(h.report(p, "a", InDoubt))
		if r := h.cancel(p.Session); r.Physical != PhysicalInDoubt {
			h.t.Fatalf("%+v", r)
		}
		h.fence("a", Passive)
		h.ack(p.Session, "b")
		if r := h.cancel(p.Session); r.Physical != PhysicalRetired || len(h.log) != 0 {
			h.t.Fatalf("%+v %v", r, h.log)
		}
	},
	"§7 a later attempt is refused while the earlier one is ACTIVE, then evidence of one never touches the other": func(h *harness) {
		p := h.open(1, Receive, "a")
		h.publish(p)
		h.admit(ErrRefused, sessionNamed(1, 2))
		h.ok(h.reg.Fail(0, p.Session, "over"))
		h.admit(nil, sessionNamed(1, 2))
		q := h.piece(PieceSpec{Name: PieceName{sessionNamed(1, 2), "p"}, Cohort: h.cohort(Receive, "a")})
		h.publish(q)
		h.ok(h.report(p, "a", OK))
		h.wantClaims(q, claim.Published)
		h.wantClaims(p, claim.Drained)
	},
}
