// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
)

// §3: evidence under any name but the current one is stale and changes nothing.
func TestStaleNames(t *testing.T) {
	for name, change := range map[string]func(*ClaimName){
		"another life of ours":        func(c *ClaimName) { c.Owner = Incarnation{9} },
		"another request":             func(c *ClaimName) { c.Piece.Session.Request.Number++ },
		"another creator":             func(c *ClaimName) { c.Piece.Session.Request.Endpoint = "x" },
		"another attempt":             func(c *ClaimName) { c.Piece.Session.Attempt++ },
		"another piece":               func(c *ClaimName) { c.Piece.Piece = "x" },
		"another life of theirs":      func(c *ClaimName) { c.Incarnation = Incarnation{9} },
		"an earlier sequence":         func(c *ClaimName) { c.Sequence-- },
		"a later sequence":            func(c *ClaimName) { c.Sequence += 7 },
		"the sequence of the sibling": func(c *ClaimName) { c.Sequence++ },
		"the sequence after the last": func(c *ClaimName) { c.Sequence += 2 },
		"a sequence that wraps":       func(c *ClaimName) { c.Sequence += 1 << 63 },
		"the largest sequence":        func(c *ClaimName) { c.Sequence = 1<<64 - 1 },
		"a stranger's old sequence":   func(c *ClaimName) { c.Accessor, c.Sequence = "z", 0 },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.open(1, Receive, "a", "b")
			h.publish(p)
			c := h.claim(p, "a")
			change(&c)
			h.want(ErrStale)(h.reg.Report(0, PeerReport{Claim: c, From: c.Accessor, Evidence: InDoubt}))
			h.wantClaims(p, claim.Published, claim.Published)
			if n := h.reg.Counters(); n.Stale != 1 || n.Conflicts != 0 {
				t.Fatalf("%+v", n)
			}
		})
	}
}

// §8: a report that claims to come from another accessor is dropped and counted
// before it is evidence; §4: one from outside of the cohort is a conflict.
func TestForeignReports(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a")
	h.publish(p)
	h.want(ErrReject)(h.reg.Report(0, PeerReport{Claim: h.claim(p, "a"), From: "b", Evidence: OK}))
	h.wantClaims(p, claim.Published)
	effects, err := h.report(p, "b", OK)
	h.want(ErrConflict)(effects, err)
	if !strings.HasSuffix(err.Error(), ": ok") {
		t.Errorf("a stranger has no claim to speak of: %v", err)
	}
	if n := h.reg.Counters(); n.Foreign != 1 || n.Conflicts != 1 || !h.state(p).Invalid {
		t.Fatalf("%+v", n)
	}
	h.ok(h.report(p, "a", OK)) // evidence is still recorded
	effects, err = h.report(p, "a", Failed)
	h.want(ErrConflict)(effects, err)
	if !strings.HasSuffix(err.Error(), ": failed, the claim is DRAINED") {
		t.Error(err)
	}
	h.want(ErrRefused)(h.reg.Close(0, p.Session))
}

// §3: evidence of a life that is known to be gone is stale, from outside of a cohort too:
// it is no breach by somebody who is there.
func TestStrangerThatIsGone(t *testing.T) {
	h := newHarness(t)
	p, q := h.open(1, Receive, "a"), h.open(2, Receive, "z")
	h.publish(p)
	h.publish(q)
	h.ok(h.reg.Gone(0, "z", h.member("z").Incarnation))
	h.want(ErrStale)(h.report(p, "z", OK))
	if h.state(p).Invalid {
		t.Error("the piece is invalid")
	}
	h.lives["z"]++
	h.want(ErrConflict)(h.report(p, "z", OK))
}

// §3: a fence ends the names that it reached, and only those.
func TestFenceScopes(t *testing.T) {
	for _, tc := range []struct {
		scope         Scope
		receive, send claim.State
	}{
		{Own, claim.Published, claim.FailedQuiesced},
		{Passive, claim.FailedQuiesced, claim.Published},
		{All, claim.FailedQuiesced, claim.FailedQuiesced},
	} {
		t.Run(tc.scope.String(), func(t *testing.T) {
			h := newHarness(t)
			in, out := h.open(1, Receive, "a"), h.open(2, Send, "a")
			h.publish(in)
			h.publish(out)
			h.ok(h.operation(out, "a", operation.StatusSubmitting))
			h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Scope: tc.scope}))
			h.wantClaims(in, tc.receive)
			h.wantClaims(out, tc.send)
			want := func(reached bool) error {
				if reached {
					return ErrStale
				}
				return nil
			}
			h.want(want(tc.scope != Own))(h.report(in, "a", OK))
			h.want(want(tc.scope != Passive))(h.operation(out, "a", operation.StatusDone))
			if tc.scope == All && len(h.labels("a")) != 0 {
				t.Fatalf("waiting for a fenced name: %v", h.labels("a"))
			}
		})
	}
}

// §3: a life that is gone can only be proven by fences and own operations.
func TestGone(t *testing.T) {
	h := newHarness(t)
	in, out := h.open(1, Receive, "a", "b"), h.open(2, Send, "a")
	h.publish(in)
	h.publish(out)
	h.ok(h.operation(out, "a", operation.StatusSubmitting))
	h.ok(h.report(in, "b", OK))
	old := h.member("a")
	h.ok(h.reg.Gone(0, "a", old.Incarnation))
	h.wantClaims(in, claim.InDoubt, claim.Drained)
	h.wantClaims(out, claim.InDoubt)
	if s, _ := h.reg.Session(in.Session); s.Cause != CauseDoubt || s.Origin != FromPeer {
		t.Fatalf("%v by %v", s.Cause, s.Origin)
	}
	h.want(ErrStale)(h.report(in, "a", FailedQuiesced))
	h.want(ErrStale)(h.reg.Ack(0, in.Session, old))
	h.ok(h.operation(out, "a", operation.StatusDone)) // late proof from the own handle
	h.wantClaims(out, claim.FailedQuiesced)
	h.ok(h.reg.Fence(0, FenceSpec{Accessor: "a", Incarnation: old.Incarnation, Scope: All}))
	h.wantClaims(in, claim.FailedQuiesced, claim.Drained)
	if got := h.reg.Admission(); got != AdmissionOpen {
		t.Fatalf("admission is %v", got)
	}
	h.ok(h.reg.Close(0, in.Session))
}

// Names and errors say what they are about in one line.
func TestTexts(t *testing.T) {
	h := newHarness(t)
	p := h.open(1, Receive, "a", "b")
	h.publish(p)
	_, err := h.reg.Close(0, p.Session)
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindRefused || len(e.Retained) != 2 {
		t.Fatalf("%#v", err)
	}
	for _, want := range []string{"ownership: session origin/1@1: refused", "claim of a is PUBLISHED", "and 1 more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than one line", err)
	}
	name, perr := ParseSessionName(p.Session.String())
	if perr != nil || name != p.Session {
		t.Errorf("%v, %v", name, perr)
	}
	for _, bad := range []string{"", "x", "/1@1", "x/1", "x/1@0", "x/-1@1", "x/1@4294967296"} {
		if _, err := ParseSessionName(bad); err == nil {
			t.Errorf("session name %q is accepted", bad)
		}
	}
	i := NewIncarnation()
	if back, err := ParseIncarnation(i.String()); err != nil || back != i || i.IsZero() {
		t.Errorf("%v, %v", back, err)
	}
}
