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
)

// TestSnapshotIsSorted: whatever the order in which things came, a snapshot lists them
// in theirs, and what is in the way of a call is listed in the order of admission.
func TestSnapshotIsSorted(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Quarantine = QuarantineAccessor })
	numbers := []uint64{7, 3, 12, 9, 1, 10, 4, 8}
	for _, n := range numbers {
		h.ok(h.reg.Admit(0, SessionSpec{Name: sessionNamed(n, 1), Side: Send}))
		h.piece(PieceSpec{Name: PieceName{sessionNamed(n, 1), "p"}, Region: "shared", Cohort: h.cohort(Send, "a")})
	}
	for _, r := range []string{"d", "b", "e", "c"} {
		if err := h.reg.AddRegion(RegionSpec{ID: r}); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range []Accessor{"z", "x", "y"} {
		p := h.open(uint64(20+i), Receive, a)
		h.publish(p)
		h.ok(h.report(p, a, InDoubt))
	}
	s := h.reg.Snapshot()
	if !slices.IsSortedFunc(s.Sessions, func(a, b SessionState) int { return compareSessions(a.Name, b.Name) }) || len(s.Sessions) != len(numbers)+3 {
		t.Errorf("sessions %v", s.Sessions)
	}
	if !slices.IsSortedFunc(s.Regions, func(a, b RegionState) int { return strings.Compare(a.ID, b.ID) }) || len(s.Regions) != 8 {
		t.Errorf("regions %v", s.Regions)
	}
	if want := []Accessor{"x", "y", "z"}; !slices.Equal(s.Doubted, want) {
		t.Errorf("doubted are %v, want %v", s.Doubted, want)
	}
	if want := []Accessor{"x", "y", "z"}; !slices.Equal(h.reg.WaitingFor(), want) {
		t.Errorf("messages wait for %v, want %v", h.reg.WaitingFor(), want)
	}
	if len(s.Waiting) != 3 || h.reg.Pending() != 3 || s.Counters.Outbox != 3 || s.Waiting[0].To.Accessor != "x" || s.Waiting[2].To.Accessor != "z" {
		t.Errorf("%d messages wait: %v", h.reg.Pending(), s.Waiting)
	}
	if s.Counters.Records != len(numbers)+3 {
		t.Errorf("%d records", s.Counters.Records)
	}
	g, _ := h.reg.Region("shared")
	if len(g.Owners) != len(numbers) || !slices.IsSortedFunc(g.Owners, func(a, b PieceName) int { return strings.Compare(a.String(), b.String()) }) {
		t.Errorf("owners %v", g.Owners)
	}
	var e *Error
	if _, err := h.reg.Reuse(0, "shared"); !errors.As(err, &e) || len(e.Retained) != len(numbers) {
		t.Fatalf("error is %v", err)
	}
	for i, r := range e.Retained {
		if r.Piece.Session.Request.Number != numbers[i] {
			t.Errorf("place %d of what holds the region is %v, want number %d", i, r, numbers[i])
		}
	}
	if _, known := h.reg.Session(sessionNamed(99, 1)); known {
		t.Error("a session is known that was never admitted")
	}
}

// TestWhatIsRetained: a refusal names all that is in the way, and why.
func TestWhatIsRetained(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a", "b")
	q := h.more(p, "q", Receive, "c")
	h.ok(h.reg.Seal(0, p))
	h.ok(h.report(p, "b", InDoubt))
	h.want(ErrConflict)(h.report(p, "x", OK))
	_, err := h.reg.Close(0, p.Session)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	region := "region of " + p.String()
	want := []Retained{
		{p, region, "a", claim.Published, waitsFor[claim.Published]},
		{p, region, "b", claim.InDoubt, waitsFor[claim.InDoubt]},
		{p, region, "", 0, "its fan-out has not returned"},
		{p, region, "", 0, "contradictory evidence made it invalid; it is never released"},
	}
	if !slices.Equal(e.Retained, want) {
		t.Errorf("retained are\n%v, want\n%v", e.Retained, want)
	}
	if q := h.state(q); q.Drained != true {
		t.Errorf("%+v", q)
	}
	if _, err = h.reg.Reuse(0, "region of "+q.String()); !errors.As(err, &e) || len(e.Retained) != 1 ||
		e.Retained[0] != (Retained{Piece: q, Region: "region of " + q.String(), Why: "drained, but its session is not closed"}) {
		t.Errorf("%v", err)
	}
}

// TestContainmentIsACopy: what a snapshot shows of it is the reader's own.
func TestContainmentIsACopy(t *testing.T) {
	h := newHarness(t)
	h.publish(h.open(1, Receive, "a"))
	h.tick(60 * second)
	s := h.reg.Snapshot()
	if len(s.Containment.Retained) != 1 || s.Containment.Retained[0].Accessor != "a" {
		t.Fatalf("%+v", s.Containment)
	}
	s.Containment.Retained[0].Accessor = "changed"
	if again := h.reg.Snapshot(); again.Containment.Retained[0].Accessor != "a" {
		t.Error("a snapshot shares its memory with the registry")
	}
}

// TestLocalDoubtIsListed: the own scatter is among the doubted.
func TestLocalDoubtIsListed(t *testing.T) {
	h := newHarness(t)
	p := h.scattering(1, Send, "a")
	h.ok(h.local(p, LocalStart))
	h.ok(h.local(p, LocalDoubt))
	if s := h.reg.Snapshot(); !slices.Equal(s.Doubted, []Accessor{Local}) {
		t.Errorf("doubted are %v", s.Doubted)
	}
}

// TestKinds: an error matches the sentinel of its kind and no other.
func TestKinds(t *testing.T) {
	for k := KindInvalid; k <= KindCapacity; k++ {
		for other := KindInvalid; other <= KindCapacity; other++ {
			if err := fail(k, "x", "y"); errors.Is(err, sentinels[other]) != (k == other) {
				t.Errorf("%v matches %v: %v", k, sentinels[other], k != other)
			}
		}
	}
	if (&Error{}).Is(nil) || Kind(0).IsValid() || (KindCapacity + 1).IsValid() || KindOf(errors.New("x")) != 0 {
		t.Error("no kind is one")
	}
}

// TestEnums: the first and the last value of each enum are valid, and what is beyond is not.
func TestEnums(t *testing.T) {
	for _, tc := range []struct {
		below, first, last, beyond interface{ IsValid() bool }
	}{
		{Evidence(0), OK, FailedQuiesced, FailedQuiesced + 1},
		{LocalEvent(0), LocalStart, LocalDoubt, LocalDoubt + 1},
		{Scope(0), Own, All, All + 1},
		{Side(0), Receive, Send, Send + 1},
	} {
		if tc.below.IsValid() || !tc.first.IsValid() || !tc.last.IsValid() || tc.beyond.IsValid() {
			t.Errorf("%T: the bounds are not %v to %v", tc.first, tc.first, tc.last)
		}
	}
	for _, tc := range []struct {
		value fmt.Stringer
		want  string
	}{
		{QuarantineEndpoint, "endpoint"}, {QuarantineAccessor, "accessor"}, {QuarantineOff, "off"}, {Quarantine(9), "invalid quarantine 9"},
		{NoOrigin, "none"}, {FromLocal, "local"}, {FromPeer, "peer"}, {FromTimeout, "timeout"}, {Origin(9), "invalid origin 9"},
		{PhysicalRetired, "RETIRED"}, {Physical(0), "invalid physical state 0"}, {Cause(""), "none"}, {CauseDoubt, "doubt"},
		{SessionName{RequestID{"e", 25}, 12}, "e/25@12"},
		{ClaimName{Piece: PieceName{sessionNamed(25, 12), "p"}, Accessor: "a", Sequence: 34}, "origin/25@12:p of a #34"},
		{Retained{Piece: PieceName{sessionNamed(1, 1), "p"}, Region: "R", Accessor: "a", State: claim.Published, Why: "why"},
			"origin/1@1:p in region R: claim of a is PUBLISHED: why"},
	} {
		if got := tc.value.String(); got != tc.want {
			t.Errorf("%T is %q, want %q", tc.value, got, tc.want)
		}
	}
}

// TestErrorTexts: kind, thing, reason and cause, each where there is one.
func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	retained := func(n int) []Retained {
		return slices.Repeat([]Retained{{Piece: PieceName{sessionNamed(1, 1), "p"}, Region: "R", Why: "why"}}, n)
	}
	for want, e := range map[string]*Error{
		"ownership: stale":                                                {Kind: KindStale},
		"ownership: thing: stale":                                         {Kind: KindStale, What: "thing"},
		"ownership: thing: stale: why":                                    {Kind: KindStale, What: "thing", Why: "why"},
		"ownership: thing: stale: why: cause":                             {Kind: KindStale, What: "thing", Why: "why", Err: cause},
		"ownership: thing: stale: cause":                                  {Kind: KindStale, What: "thing", Err: cause},
		"ownership: refused: " + retained(1)[0].String():                  {Kind: KindRefused, Retained: retained(1)},
		"ownership: refused: " + retained(1)[0].String() + ", and 1 more": {Kind: KindRefused, Retained: retained(2)},
	} {
		if e.Error() != want {
			t.Errorf("text is %q, want %q", e, want)
		}
		if e.Err != nil && !errors.Is(e, cause) {
			t.Errorf("%v does not lead to its cause", e)
		}
	}
}

// TestParse: names and incarnations are read as they are written, and nothing else is.
func TestParse(t *testing.T) {
	for _, s := range []SessionName{{RequestID{"a", 1}, 1}, {RequestID{"a/b@c", 25}, 12}, {RequestID{"e", 1<<64 - 1}, 1<<32 - 1}} {
		if back, err := ParseSessionName(s.String()); err != nil || back != s {
			t.Errorf("%v is read as %v, %v", s, back, err)
		}
	}
	for _, bad := range []string{"", "00", strings.Repeat("0", 33), strings.Repeat("0", 34), strings.Repeat("x", 32)} {
		if _, err := ParseIncarnation(bad); err == nil || !strings.Contains(err.Error(), "want 32 hexadecimal digits") {
			t.Errorf("incarnation %q: error is %v", bad, err)
		}
	}
}
