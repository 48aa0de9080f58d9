// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// passing has as many cohorts come and go as are remembered, and one more.
type passing struct {
	*harness
	number uint64 // of the last request
}

func (h *passing) pieceOf(cohort ...Accessor) PieceName {
	h.t.Helper()
	h.number++
	return h.open(h.number, Receive, cohort...)
}

func (h *passing) close(p PieceName) {
	h.t.Helper()
	h.cancel(p.Session)
	h.ok(h.reg.Close(h.now, p.Session))
}

// others lets other cohorts come and go until an idle one is forgotten. All of it is
// judged as one call.
func (h *passing) others() {
	h.t.Helper()
	if err := h.reg.AddRegion(RegionSpec{ID: "others"}); err != nil && !errors.Is(err, ErrReject) {
		h.t.Fatal(err)
	}
	var all Effects
	note := func(effects Effects, err error) {
		h.t.Helper()
		if all = append(all, effects...); err != nil {
			h.t.Fatal(err)
		}
	}
	for range maxIdle + 1 {
		h.number++
		s := sessionNamed(h.number, 1)
		note(h.reg.Admit(h.now, SessionSpec{Name: s, Side: Receive}))
		_, effects, err := h.reg.AddPiece(h.now, PieceSpec{Name: PieceName{s, "p"}, Region: "others", Cohort: h.cohort(Receive, Accessor(fmt.Sprint("other ", h.number)))})
		note(effects, err)
		note(h.reg.Fail(h.now, s, "test"))
		note(h.reg.Close(h.now, s))
	}
	h.ok(all, nil)
}

func (h *passing) wantKnown(a Accessor, known bool) {
	h.t.Helper()
	if got := h.reg.core.knownPeer(a, h.member(a).Incarnation) != nil; got != known {
		h.t.Fatalf("%s is remembered: %v, want %v", a, got, known)
	}
}

// wantReached wants a fence of an accessor to reach its claim, the first of a piece.
func (h *passing) wantReached(p PieceName, a Accessor) {
	h.t.Helper()
	h.publish(p)
	h.fence(a, All)
	if st := h.state(p).Claims[0]; st.Name.Accessor != a || st.State != claim.FailedQuiesced {
		h.t.Fatalf("the claim of %s is %v after its fence", st.Name.Accessor, st.State)
	}
}

// idle are stories of cohorts that nobody holds, and that are forgotten when many others
// come after them: whatever is owned can be found all the time (I16).
var idle = map[string]func(h *passing){
	"one that comes and goes is forgotten once": func(h *passing) {
		for range 3 {
			h.close(h.pieceOf("a"))
		}
		h.others()
		h.wantKnown("a", false)
		h.wantReached(h.pieceOf("a"), "a")
	},
	"one that is held twice and left twice is forgotten once": func(h *passing) {
		p, q := h.pieceOf("a", "b"), h.pieceOf("a", "b")
		h.close(p)
		h.others()
		h.wantKnown("b", true)
		h.close(q)
		h.others()
		h.wantKnown("b", false)
	},
	"one that is held again stays, and is forgotten after it was left again": func(h *passing) {
		h.close(h.pieceOf("a"))
		p := h.pieceOf("a")
		h.others()
		h.wantKnown("a", true)
		h.wantReached(p, "a")
		h.ok(h.reg.Close(h.now, p.Session))
		h.others()
		h.wantKnown("a", false)
	},
	"the last that was asked for is forgotten like others": func(h *passing) {
		var others []PieceName
		for range maxIdle {
			others = append(others, h.pieceOf(Accessor(fmt.Sprint("other ", h.number))))
		}
		h.close(h.pieceOf("a"))
		for _, p := range others {
			h.close(p)
		}
		h.wantKnown("a", false)
		h.wantReached(h.pieceOf("a"), "a")
	},
	"an accessor that another cohort names stays": func(h *passing) {
		p := h.pieceOf("a", "c")
		h.close(h.pieceOf("a", "b"))
		h.others()
		h.wantKnown("b", false)
		h.wantKnown("a", true)
		h.wantReached(p, "a")
	},
	"an accessor that has asked for data stays": func(h *passing) {
		s := sessionNamed(1000, 1)
		h.ok(h.reg.Admit(h.now, SessionSpec{Name: s, Side: Send}))
		h.requested(s, "a")
		h.close(h.pieceOf("a"))
		h.others()
		h.wantKnown("a", true)
		h.cancel(s)
		h.wantTold("a", "CANCEL_SESSION", "SESSION_QUIESCED")
	},
	"another life of an accessor stays": func(h *passing) {
		h.close(h.pieceOf("a"))
		h.lives["a"]++
		p := h.pieceOf("a")
		h.others()
		h.wantKnown("a", true)
		h.wantReached(p, "a")
	},
}

func TestIdleCohorts(t *testing.T) {
	for name, story := range idle {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(&passing{harness: newHarness(t)})
		})
	}
}

// TestCohortsWithAndWithoutScatter: one list of accessors is two cohorts.
func TestCohortsWithAndWithoutScatter(t *testing.T) {
	h := newHarness(t)
	var pieces []PieceName
	for n := range uint64(6) {
		if n%2 == 0 {
			pieces = append(pieces, h.scattering(n+1, Receive, "a"))
		} else {
			pieces = append(pieces, h.open(n+1, Receive, "a"))
		}
	}
	if n := len(h.reg.core.cohorts.byKey); n != 2 {
		t.Fatalf("%d cohorts", n)
	}
	for i, p := range pieces {
		if st := h.state(p); (st.Local != nil) != (i%2 == 0) {
			t.Errorf("piece %v has a scatter: %v", p, st.Local != nil)
		}
	}
	h.publish(pieces[0])
	h.fence("a", Passive)
	h.wantClaims(pieces[0], claim.FailedQuiesced)
}
