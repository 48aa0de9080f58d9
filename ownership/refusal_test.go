// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
)

// refusals are calls that are wrong in themselves, with words of what each is told. They
// are made with p, a published piece of a and b with no scatter of its own.
var refusals = map[string]struct {
	call func(h *harness, p PieceName) (Effects, error)
	why  string
}{
	"a session without an endpoint": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Admit(h.now, SessionSpec{Name: SessionName{RequestID{"", 1}, 1}, Side: Send})
	}, "no endpoint"},
	"attempt 0": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(9, 0), Side: Send})
	}, "attempts count from 1"},
	"a session of no side": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(9, 1)})
	}, "invalid side"},
	"a negative timeout": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(9, 1), Side: Send, RequestTimeout: -1})
	}, "negative"},
	"a negative grace": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Admit(h.now, SessionSpec{Name: sessionNamed(9, 1), Side: Send, Grace: -1})
	}, "negative"},
	"a piece without a name":           {addWrong(func(s *PieceSpec) { s.Name.Piece = "" }), "name is empty"},
	"a piece of nobody":                {addWrong(func(s *PieceSpec) { s.Cohort = nil }), "cohort is empty"},
	"a sequence on the receive side":   {addWrong(func(s *PieceSpec) { s.Cohort[1].Sequence = 1 }), "no sequences"},
	"an accessor without a life":       {addWrong(func(s *PieceSpec) { s.Cohort[1].Incarnation = Incarnation{} }), "without an incarnation"},
	"an accessor without a name":       {addWrong(func(s *PieceSpec) { s.Cohort[1].Accessor = "" }), "names an accessor"},
	"an accessor twice":                {addWrong(func(s *PieceSpec) { s.Cohort[1].Accessor = "y" }), "twice"},
	"an unknown access":                {addWrong(func(s *PieceSpec) { s.Access = Reads + 1 }), "access"},
	"a negative count":                 {addWrong(func(s *PieceSpec) { s.Count = -1 }), "its count"},
	"a count of too many":              {addWrong(func(s *PieceSpec) { s.Count = 3 }), "its count"},
	"an unknown region":                {addWrong(func(s *PieceSpec) { s.Region = "none" }), "unknown"},
	"a cancel without an endpoint":     {cancelWrong(CancelSpec{Session: SessionName{RequestID{"", 1}, 1}}), "no endpoint"},
	"a cancel by time":                 {cancelWrong(CancelSpec{Session: sessionNamed(9, 1), Origin: FromTimeout}), "origin local or peer"},
	"a cancel of no side":              {cancelWrong(CancelSpec{Session: sessionNamed(9, 1), Origin: FromPeer, From: Member{Accessor: "a"}, FromSide: Send + 1}), "side"},
	"a cancel from nobody":             {cancelWrong(CancelSpec{Session: sessionNamed(9, 1), Origin: FromPeer, From: Member{Incarnation: Incarnation{1}}}), "no accessor"},
	"our own cancel from a peer":       {cancelWrong(CancelSpec{Session: sessionNamed(9, 1), From: Member{Accessor: "a"}}), "only a peer's"},
	"a session fails without a reason": {func(h *harness, p PieceName) (Effects, error) { return h.reg.Fail(h.now, p.Session, "") }, "without a reason"},
	"a piece fails without a reason":   {func(h *harness, p PieceName) (Effects, error) { return h.reg.FailPiece(h.now, p, "") }, "without a reason"},
	"a fence of nobody":                {func(h *harness, p PieceName) (Effects, error) { return h.reg.Fence(h.now, FenceSpec{Scope: All}) }, "fence of "},
	"a fence without a scope":          {func(h *harness, p PieceName) (Effects, error) { return h.reg.Fence(h.now, FenceSpec{Accessor: "a"}) }, "scope"},
	"a fence of an unknown scope": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Fence(h.now, FenceSpec{Accessor: "a", Scope: All + 1})
	}, "scope"},
	"a session without an endpoint is closed": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Close(h.now, SessionName{RequestID{"", 1}, 1})
	}, "no endpoint"},
	"attempt 0 is closed": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Close(h.now, sessionNamed(9, 0))
	}, "attempts count from 1"},
	"attempt 0 is asked for": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Requested(h.now, sessionNamed(9, 0), h.member("a"))
	}, "attempts count from 1"},
	"no evidence from a stranger": {func(h *harness, p PieceName) (Effects, error) { return h.report(p, "x", 0) }, "evidence"},
	"a local event where there is no scatter": {func(h *harness, p PieceName) (Effects, error) {
		return h.local(p, LocalDone)
	}, "the piece has no local claim"},
	"a local event where there is none, of an old sequence": {func(h *harness, p PieceName) (Effects, error) {
		return h.reg.Local(h.now, ClaimName{Incarnation{1}, p, Local, Incarnation{1}, 77}, LocalDone)
	}, "the piece has no local claim"},
	"nobody is gone":             {func(h *harness, p PieceName) (Effects, error) { return h.reg.Gone(h.now, "", Incarnation{}) }, "cannot be gone"},
	"we are gone":                {func(h *harness, p PieceName) (Effects, error) { return h.reg.Gone(h.now, Local, Incarnation{}) }, "cannot be gone"},
	"no evidence":                {func(h *harness, p PieceName) (Effects, error) { return h.report(p, "a", 0) }, "evidence"},
	"unknown evidence":           {func(h *harness, p PieceName) (Effects, error) { return h.report(p, "a", FailedQuiesced+1) }, "evidence"},
	"a report of the scatter":    {func(h *harness, p PieceName) (Effects, error) { return h.report(p, Local, OK) }, "a local claim has no reports"},
	"no status":                  {func(h *harness, p PieceName) (Effects, error) { return h.operation(p, "a", 0) }, "Status(0)"},
	"an operation of the gather": {func(h *harness, p PieceName) (Effects, error) { return h.operation(p, Local, operation.StatusDone) }, "a local claim has no operation"},
	"no local event":             {func(h *harness, p PieceName) (Effects, error) { return h.local(p, 0) }, "local event"},
	"an unknown local event":     {func(h *harness, p PieceName) (Effects, error) { return h.local(p, LocalDoubt+1) }, "local event"},
	"a local event of a peer":    {func(h *harness, p PieceName) (Effects, error) { return h.reg.Local(h.now, h.claim(p, "a"), LocalStart) }, "not of the local accessor"},
	"a watermark of nobody":      {func(h *harness, p PieceName) (Effects, error) { return h.reg.Watermark(h.now, "", 1) }, "endpoint is empty"},
	"a region without a name":    {func(h *harness, p PieceName) (Effects, error) { return nil, h.reg.AddRegion(RegionSpec{Len: 1}) }, "id is empty"},
	"a region that wraps": {func(h *harness, p PieceName) (Effects, error) {
		return nil, h.reg.AddRegion(RegionSpec{ID: "wraps", Addr: math.MaxUint64 - 9, Len: 10})
	}, "wraps"},
}

// addWrong adds a piece that is good but for one thing.
func addWrong(change func(*PieceSpec)) func(*harness, PieceName) (Effects, error) {
	return func(h *harness, p PieceName) (Effects, error) {
		if err := h.reg.AddRegion(RegionSpec{ID: "free"}); err != nil {
			h.t.Fatal(err)
		}
		spec := PieceSpec{Name: PieceName{p.Session, "q"}, Region: "free", Cohort: h.cohort(Receive, "y", "z")}
		change(&spec)
		_, effects, err := h.reg.AddPiece(h.now, spec)
		return effects, err
	}
}

func cancelWrong(spec CancelSpec) func(*harness, PieceName) (Effects, error) {
	return func(h *harness, p PieceName) (Effects, error) {
		_, effects, err := h.reg.Cancel(h.now, spec)
		return effects, err
	}
}

// TestRefusals: a malformed call says what is wrong, and changes nothing.
func TestRefusals(t *testing.T) {
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.open(1, Receive, "a", "b")
			h.publish(p)
			before := h.reg.Counters()
			effects, err := tc.call(h, p)
			h.want(ErrInvalidArgument)(effects, err)
			if !strings.Contains(err.Error(), tc.why) {
				t.Errorf("error is %q, want something of %q", err, tc.why)
			}
			if after := h.reg.Counters(); after != before || len(effects) > 0 {
				t.Errorf("%d effects, counters are %+v, were %+v", len(effects), after, before)
			}
			h.wantClaims(p, claim.Published, claim.Published)
			h.admit(nil, sessionNamed(9, 1))
		})
	}
	h := newHarness(t)
	if err := h.reg.AddRegion(RegionSpec{ID: "at the end", Addr: math.MaxUint64 - 10, Len: 10}); err != nil {
		t.Error(err)
	}
}

// TestStaleCalls: calls about what is not owned.
func TestStaleCalls(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	other := PieceName{p.Session, "q"}
	for name, call := range map[string]func() (Effects, error){
		"fail piece": func() (Effects, error) { return h.reg.FailPiece(h.now, other, "why") },
		"fail":       func() (Effects, error) { return h.reg.Fail(h.now, sessionNamed(9, 1), "why") },
		"complete":   func() (Effects, error) { return h.reg.Complete(h.now, sessionNamed(9, 1)) },
		"close":      func() (Effects, error) { return h.reg.Close(h.now, sessionNamed(9, 1)) },
		"finish":     func() (Effects, error) { return h.reg.Finish(h.now, other) },
		"fail send":  func() (Effects, error) { return h.reg.FailSend(h.now, other, nil) },
		"local": func() (Effects, error) {
			return h.reg.Local(h.now, ClaimName{Incarnation{1}, other, Local, Incarnation{1}, 1}, LocalStart)
		},
	} {
		if effects, err := call(); !errors.Is(h.did(effects, err), ErrStale) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	for name, call := range map[string]func() (Effects, error){
		"reuse":      func() (Effects, error) { return h.reg.Reuse(h.now, "none") },
		"deregister": func() (Effects, error) { return h.reg.Deregister(h.now, "none") },
		"remove":     func() (Effects, error) { return h.reg.RemoveRegion(h.now, "none") },
	} {
		if effects, err := call(); !errors.Is(h.did(effects, err), ErrInvalidArgument) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestDefaults: zero fields of a config take the documented values, and no table is
// larger than its counters.
func TestDefaults(t *testing.T) {
	good := Config{Name: "self", Incarnation: Incarnation{1}, Contain: func(Containment) error { return nil }}
	reg, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	c := reg.core.cfg
	if c.RequestTimeout != time.Minute || c.Grace != 30*time.Second || c.Owners != 1<<20 || c.Sessions != 1<<20 ||
		c.Tombstones != 1<<16 || c.Requests != 1<<16 || c.Outbox != 1<<20 {
		t.Errorf("the defaults are %+v", c)
	}
	for _, n := range []int{1, 1<<24 - 1, 1 << 24} {
		cfg := good
		cfg.Outbox = n
		if _, err := New(cfg); (err != nil) != (n == 1<<24) {
			t.Errorf("%d messages: %v", n, err)
		}
	}
}

// TestSessionIsFull: a session takes 65535 pieces, and of several either all or none.
func TestSessionIsFull(t *testing.T) {
	h := newHarness(t)
	s := sessionNamed(1, 1)
	h.ok(h.reg.Admit(0, SessionSpec{Name: s, Side: Send}))
	if err := h.reg.AddRegion(RegionSpec{ID: "R"}); err != nil {
		t.Fatal(err)
	}
	const most = 1<<16 - 1
	specs := make([]PieceSpec, most+2)
	for n := range specs {
		specs[n] = PieceSpec{Name: PieceName{s, strconv.Itoa(n)}, Region: "R", Cohort: h.cohort(Send, "a")}
	}
	for _, add := range []struct {
		from, to int
		want     error
	}{
		{0, most + 1, ErrCapacity}, {0, most - 1, nil}, {most - 1, most + 1, ErrCapacity}, {most - 1, most, nil},
		{most, most + 1, ErrCapacity}, {most, most + 2, ErrCapacity},
	} {
		before := h.reg.Counters().Owners
		_, _, err := h.reg.AddPieces(0, specs[add.from:add.to]...)
		if added := h.reg.Counters().Owners - before; !errors.Is(err, add.want) || (err == nil) != (added == add.to-add.from) || err != nil && added != 0 {
			t.Fatalf("pieces from %d to %d: %d are added, error is %v", add.from, add.to, added, err)
		}
	}
}
