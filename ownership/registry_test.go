// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

func TestNewRefuses(t *testing.T) {
	good := Config{Name: "self", Incarnation: Incarnation{1}, Contain: func(Containment) error { return nil }}
	for name, change := range map[string]func(*Config){
		"no name": func(c *Config) { c.Name = "" }, "a reserved name": func(c *Config) { c.Name = Local },
		"no incarnation": func(c *Config) { c.Incarnation = Incarnation{} }, "no containment": func(c *Config) { c.Contain = nil },
		"a negative limit": func(c *Config) { c.Grace = -1 }, "a negative bound": func(c *Config) { c.Outbox = -1 },
		"an unknown quarantine": func(c *Config) { c.Quarantine = 9 },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

// §7: a region is held until release; send owners share with send owners.
func TestRegions(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	region := h.state(p).Region
	h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(2, 1), Side: Receive}))
	refused := func(n uint64, side Side) {
		t.Helper()
		_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: PieceName{sessionNamed(n, 1), "x"}, Region: region, Cohort: h.cohort(side, "a")})
		h.want(ErrRefused)(effects, err)
	}
	refused(2, Receive)
	h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(3, 1), Side: Send}))
	refused(3, Send)
	h.want(ErrRefused)(h.reg.Reuse(0, region))
	h.want(ErrRefused)(h.reg.Deregister(0, region))
	h.want(ErrRefused)(h.reg.RemoveRegion(0, region))
	shared := h.piece(PieceSpec{Name: PieceName{sessionNamed(3, 1), "s"}, Region: "S", Cohort: h.cohort(Send, "a")})
	h.piece(PieceSpec{Name: PieceName{sessionNamed(3, 1), "t"}, Region: "S", Cohort: h.cohort(Send, "b")})
	if g, _ := h.reg.Region("S"); len(g.Owners) != 2 {
		t.Fatalf("%+v", g)
	}
	h.ok(h.reg.Fail(0, shared.Session, "test"))
	h.want(ErrRefused)(h.reg.Reuse(0, "S")) // RETIRED is not permission
	h.ok(h.reg.Close(0, shared.Session))
	h.ok(h.reg.Reuse(0, "S"))
	h.ok(h.reg.Deregister(0, "S"))
	h.want(ErrReject)(h.reg.Deregister(0, "S"))
	if g, _ := h.reg.Region("S"); g.Allocation != 2 || g.Registration != 2 || g.Registered {
		t.Fatalf("%+v", g)
	}
	_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: PieceName{sessionNamed(2, 1), "x"}, Region: "S", Cohort: h.cohort(Receive, "a")})
	h.want(ErrRefused)(effects, err) // not registered
	h.ok(h.reg.RemoveRegion(0, "S"))
	h.want(ErrInvalidArgument)(h.reg.Reuse(0, "S"))
}

// §7: full tables refuse what is new and keep everything.
func TestCapacity(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Owners, c.Sessions, c.Tombstones, c.Requests, c.Outbox = 1, 2, 1, 1, 1 })
	p := h.open(1, Send, "a")
	if err := h.reg.AddRegion(RegionSpec{ID: "B"}); err != nil {
		t.Fatal(err)
	}
	_, effects, err := h.reg.AddPiece(0, PieceSpec{Name: PieceName{p.Session, "q"}, Region: "B", Cohort: h.cohort(Send, "a")})
	h.want(ErrCapacity)(effects, err)
	h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(2, 1), Side: Receive}))
	h.want(ErrCapacity)(h.reg.Admit(0, SessionSpec{Name: sessionNamed(3, 1), Side: Receive}))
	cancel := func(n uint64) (Effects, error) {
		_, effects, err := h.reg.Cancel(0, CancelSpec{Session: sessionNamed(n, 1), Origin: FromPeer, From: h.member("a")})
		return effects, err
	}
	h.ok(cancel(4))
	if got := h.labels("a"); !slices.Equal(got, []string{"SESSION_QUIESCED"}) {
		t.Fatalf("%v", got)
	}
	h.ok(cancel(4))
	h.want(ErrCapacity)(cancel(5)) // and it is not answered
	if got := h.labels("a"); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	h.ok(h.reg.Requested(0, sessionNamed(6, 1), h.member("a")))
	h.ok(h.reg.Requested(0, sessionNamed(6, 1), h.member("a")))
	h.want(ErrCapacity)(h.reg.Requested(0, sessionNamed(7, 1), h.member("a")))
	h.want(ErrRefused)(h.reg.Close(0, sessionNamed(2, 1))) // ACTIVE, and still owned
}

// §7: stop fails closed and says what it keeps and why.
func TestStop(t *testing.T) {
	h := newHarness(t)
	in, out := h.open(1, Receive, "a"), h.open(2, Send, "a")
	h.publish(in)
	h.publish(out)
	h.ok(h.operation(out, "a", operation.StatusSubmitting))
	effects, err := h.reg.Stop(0)
	h.want(ErrRefused)(effects, err)
	var e *Error
	if errors.As(err, &e); len(e.Retained) != 4 { // two claims, CANCEL_SESSION to a from either side
		t.Fatalf("%v", e.Retained)
	}
	h.ok(h.report(in, "a", OK))
	h.ok(h.operation(out, "a", operation.StatusDone))
	h.want(ErrRefused)(h.reg.Stop(0)) // reports wait
	for m, ok := h.reg.Peek("a"); ok; m, ok = h.reg.Peek("a") {
		if h.reg.Delivered("a", m.Number+1) || !h.reg.Delivered("a", m.Number) {
			t.Fatal("delivered the wrong message")
		}
	}
	h.ok(h.reg.Stop(0))
	h.ok(h.reg.Stop(0))
	h.ok(h.reg.Reuse(0, "region of "+in.String()))
	h.want(ErrClosed)(h.reg.Reopen(0))
	h.want(ErrClosed)(h.reg.Admit(0, SessionSpec{Name: sessionNamed(3, 1), Side: Send}))
}

// §8: a result tells the peer under the peer's own name of the claim.
func TestResultCarriesThePeersName(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Send, "a")
	h.publish(p)
	h.ok(h.operation(p, "a", operation.StatusSubmitting))
	h.ok(h.operation(p, "a", operation.StatusDone))
	m, ok := h.reg.Peek("a")
	r, isResult := m.Message.(*Result)
	want := ClaimName{h.member("a").Incarnation, p, "self", Incarnation{1}, 100}
	if !ok || !isResult || r.Claim != want || r.Evidence != OK || m.To != h.member("a") {
		t.Fatalf("%v %v", m.To, m.Message)
	}
}

// §6, §7: containment runs outside of all locks, once, and its failure is kept.
func TestContainment(t *testing.T) {
	failure := errors.New("cannot contain")
	var h *harness
	h = newHarness(t, func(c *Config) {
		c.Contain = func(c Containment) error {
			h.contained = append(h.contained, c)
			if h.reg.Admission() != AdmissionFatal { // a lock that is held would hang here
				t.Error("contained before the latch")
			}
			return failure
		}
	})
	p, q := h.open(1, Receive, "a"), h.open(2, Receive, "a")
	h.publish(p)
	h.publish(q)
	h.tick(time.Hour)
	s := h.reg.Snapshot()
	if len(h.contained) != 1 || !s.Fatal || s.ContainErr != failure || s.Containment.Session != p.Session || s.Containment.Deadline != 10*second || s.Containment.Noticed != time.Hour {
		t.Fatalf("contained %d, %+v", len(h.contained), s.Containment)
	}
	h.ok(h.report(q, "a", OK))
	h.want(ErrFatal)(h.reg.Close(h.now, q.Session))
	h.want(ErrFatal)(h.reg.Stop(h.now))
	h.want(ErrFatal)(h.reg.Seal(h.now, q))
	h.want(ErrFatal)(h.reg.Deregister(h.now, h.state(q).Region))
	h.want(ErrFatal)(h.reg.Watermark(h.now, "origin", 5))
	if n := h.reg.Counters(); n.Retained != 2 {
		t.Fatalf("%+v", n)
	}
}

// §5: the pieces of one seal are published all or none.
func TestSealIsAtomic(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	q := h.piece(PieceSpec{Name: PieceName{p.Session, "q"}, Cohort: h.cohort(Receive, "a", "b")})
	h.publish(q)
	r := h.piece(PieceSpec{Name: PieceName{p.Session, "r"}, Cohort: h.cohort(Receive, "a")})
	other := h.open(2, Receive, "a")
	for _, tc := range []struct {
		pieces []PieceName
		want   error
	}{
		{nil, ErrInvalidArgument},
		{[]PieceName{p, p}, ErrInvalidArgument},
		{[]PieceName{p, other}, ErrInvalidArgument},
		{[]PieceName{p, {p.Session, "x"}}, ErrStale},
		{[]PieceName{p, q, r}, ErrReject},
		{[]PieceName{r, q}, ErrReject},
	} {
		h.want(tc.want)(h.reg.Seal(0, tc.pieces...))
		h.wantClaims(p, claim.Unpublished)
		h.wantClaims(r, claim.Unpublished)
	}
	_, err := h.reg.Seal(0, p, other)
	if want := "piece origin/2@1:p: invalid_argument: is of another session than origin/1@1:p"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %q in it", err, want)
	}
	h.ok(h.reg.Seal(0, p, r))
	h.want(ErrReject)(h.reg.Finish(0, p, q))
	h.ok(h.reg.Finish(0, r, p))
	h.want(ErrReject)(h.reg.Finish(0, p))
}

// §4: what fail_send may exclude.
func TestFailSend(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a", "b", "c")
	h.want(ErrReject)(h.reg.FailSend(0, p, nil))
	h.ok(h.reg.Seal(0, p))
	for _, bad := range [][]Accessor{{"x"}, {"a", "a"}, {Local}} {
		h.want(ErrInvalidArgument)(h.reg.FailSend(0, p, bad))
	}
	h.ok(h.report(p, "b", OK))
	h.ok(h.reg.FailSend(0, p, []Accessor{"a", "b"}))
	h.wantClaims(p, claim.Published, claim.Drained, claim.SafeUnpublished)
	if st := h.state(p); st.Outcome != outcome.Failed || st.Cause != CausePublication || st.Origin != FromLocal {
		t.Fatalf("%+v", st)
	}

	r := h.scattering(3, Receive, "a")
	h.ok(h.reg.Seal(0, r))
	effects, err := h.reg.FailSend(0, r, []Accessor{"a", Local})
	if h.want(ErrInvalidArgument)(effects, err); !strings.Contains(err.Error(), "published names local, which is not in the cohort") {
		t.Error(err) // its scatter is not for peers
	}
	h.wantAnswer(r, outcome.Active, "", NoOrigin)

	q := h.open(2, Send, "a", "b")
	h.ok(h.reg.Seal(0, q))
	h.ok(h.operation(q, "a", operation.StatusSubmitting))
	h.ok(h.operation(q, "a", operation.StatusSubmitted))
	h.want(ErrConflict)(h.reg.FailSend(0, q, []Accessor{"b"}))
	h.wantClaims(q, claim.Published, claim.Published)
	if st := h.state(q); !st.Invalid || st.Cause != CauseConflict {
		t.Fatalf("%+v", st)
	}
}

// Every effect has one line, and a stamp without gaps.
func TestEffectTexts(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	h.publish(p)
	h.ok(h.report(p, "a", InDoubt))
	want := []string{
		"claim origin/1@1:p of a #1: doubt: PUBLISHED -> IN_DOUBT",
		"piece origin/1@1:p: FAILED, cause doubt, origin peer",
		"session origin/1@1: FAILED, cause doubt, origin peer",
		"outbox a~02000100: queued CANCEL_SESSION origin/1@1 by the receive side",
		"admission: OPEN -> QUARANTINED",
	}
	if !reflect.DeepEqual(h.log, want) {
		t.Fatalf("%q", h.log)
	}
	h.ok(h.reg.Reopen(0))
	q := h.open(2, Receive, "a")
	h.publish(q)
	h.ok(h.reg.Complete(0, q.Session))
	h.ok(h.report(q, "a", OK))
	want = []string{
		"claim origin/2@1:p of a #2: done_ok: PUBLISHED -> DRAINED",
		"piece origin/2@1:p: SUCCEEDED",
		"session origin/2@1: SUCCEEDED",
		"session origin/2@1: settled",
	}
	if !reflect.DeepEqual(h.log, want) {
		t.Fatalf("%q", h.log)
	}
}

// What is asked of a FATAL registry is told which session that was.
func TestFatalNamesTheSession(t *testing.T) {
	h := newHarness(t)
	p, q := h.open(7, Receive, "a"), h.open(8, Receive, "a")
	h.publish(p)
	h.tick(60 * second)
	for name, call := range map[string]func() (Effects, error){
		"seal":      func() (Effects, error) { return h.reg.Seal(h.now, q) },
		"stop":      func() (Effects, error) { return h.reg.Stop(h.now) },
		"watermark": func() (Effects, error) { return h.reg.Watermark(h.now, "origin", 9) },
	} {
		effects, err := call()
		if h.want(ErrFatal)(effects, err); !strings.Contains(err.Error(), p.Session.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
