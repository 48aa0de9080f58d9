// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/proptest/model"
)

// compare returns the first thing of the library that is not as the model says.
func (w *world) compare(got *ownership.Snapshot) string {
	m := w.model
	if s := got.Admission.String(); s != m.Admission() {
		return fmt.Sprintf("admission is %s, want %s", s, m.Admission())
	}
	if !slices.EqualFunc(got.Doubted, m.Doubted, func(a ownership.Accessor, b string) bool { return string(a) == b }) {
		return fmt.Sprintf("the quarantine remembers %v, want %v", got.Doubted, m.Doubted)
	}
	if len(got.Sessions) != len(m.Sessions) {
		return fmt.Sprintf("%d sessions are owned, want %d", len(got.Sessions), len(m.Sessions))
	}
	for i := range got.Sessions {
		if bad := w.compareSession(&got.Sessions[i]); bad != "" {
			return bad
		}
	}
	if bad := w.compareCounters(&got.Counters); bad != "" {
		return bad
	}
	if bad := w.compareRegions(got.Regions); bad != "" {
		return bad
	}
	return w.compareOutbox()
}

func (w *world) compareCounters(n *ownership.Counters) string {
	m := w.model
	retained := 0
	for _, s := range m.Sessions {
		for _, p := range s.Pieces {
			if !m.Drained(p) {
				retained++
			}
		}
	}
	contained := 0
	if m.Fatal {
		contained = 1
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"admitted", int(n.Admitted), m.Admitted}, {"released", int(n.Released), m.Released},
		{"owners", n.Owners, m.Owners()}, {"retained", n.Retained, retained}, {"contained", n.Contained, contained},
		{"stale", int(n.Stale), m.StaleCalls}, {"duplicates", int(n.Duplicates), m.Duplicates}, {"ignored", int(n.Ignored), m.Ignored},
		{"tombstones", n.Tombstones, m.Tombstones()}, {"requests", n.Requests, m.Kept()}, {"outbox", n.Outbox, len(m.Waiting)},
	} {
		if c.got != c.want {
			return fmt.Sprintf("counter %s is %d, want %d", c.what, c.got, c.want)
		}
	}
	return ""
}

func (w *world) compareSession(got *ownership.SessionState) string {
	n := got.Name
	s := w.model.Find(model.Name{Request: model.Request{Endpoint: n.Request.Endpoint, Number: int(n.Request.Number)}, Attempt: int(n.Attempt)})
	if s == nil {
		return fmt.Sprintf("session %v should not be owned", n)
	}
	type view struct {
		outcome, cause, origin, physical string
		complete, settled, armed, drains bool
		expires, start, deadline         int64
	}
	is := view{got.Outcome.String(), string(got.Cause), plain(got.Origin.String()), got.Physical.String(),
		got.Complete, got.Settled, got.Armed, got.Draining, int64(got.Expires), int64(got.DrainStart), int64(got.Deadline)}
	want := view{s.Outcome, s.Cause, s.Origin, w.model.Physical(s), s.Complete, s.Settled(), s.Armed, s.Draining, 0, 0, 0}
	if s.Armed {
		want.expires = int64(s.Expires())
	}
	if s.Draining {
		want.start, want.deadline = int64(s.DrainStart), int64(s.Deadline())
	}
	if is != want {
		return fmt.Sprintf("session %v is %+v, want %+v", n, is, want)
	}
	if len(got.Pieces) != len(s.Pieces) {
		return fmt.Sprintf("session %v has %d pieces, want %d", n, len(got.Pieces), len(s.Pieces))
	}
	for i, p := range s.Pieces {
		if bad := w.comparePiece(&got.Pieces[i], p); bad != "" {
			return bad
		}
	}
	return ""
}

func (w *world) comparePiece(got *ownership.PieceState, p *model.Piece) string {
	type view struct {
		gate, outcome, cause, origin string
		invalid, drained, selected   bool
	}
	is := view{got.Gate.String(), got.Outcome.String(), string(got.Cause), plain(got.Origin.String()), got.Invalid, got.Drained, got.Selected}
	want := view{p.Gate, p.Outcome, p.Cause, p.Origin, p.Invalid, w.model.Drained(p), p.Selected}
	if is != want {
		return fmt.Sprintf("piece %v is %+v, want %+v", got.Name, is, want)
	}
	for i, c := range p.Claims {
		if bad := compareClaim(&got.Claims[i], c, w.model); bad != "" {
			return bad
		}
	}
	if p.Local == nil != (got.Local == nil) {
		return fmt.Sprintf("piece %v has a local claim: %v", got.Name, got.Local)
	}
	if p.Local != nil {
		return compareClaim(got.Local, p.Local, w.model)
	}
	return ""
}

// stateNames is faster than asking each time.
var stateNames = func() (out [16]string) {
	for _, s := range claim.AllStates() {
		out[s] = s.String()
	}
	return out
}()

func compareClaim(got *ownership.ClaimState, c *model.ClaimState, m *model.Registry) string {
	local := c.Of.Accessor == model.Local // it has no say about delivery, and is not counted
	told := local || got.Verdict.String() == c.Verdict && got.Counts == c.Counts()
	if stateNames[got.State] == c.State && told && got.Fenced == c.Fenced && got.Gone == m.IsGone(c.Of) {
		return ""
	}
	return fmt.Sprintf("claim %v is %v, verdict %v, counts %v, fenced %v, gone %v; want %s, %s, %v, %v, %v",
		got.Name, got.State, got.Verdict, got.Counts, got.Fenced, got.Gone, c.State, c.Verdict, c.Counts(), c.Fenced, m.IsGone(c.Of))
}

func (w *world) compareRegions(got []ownership.RegionState) string {
	if len(got) != len(w.model.Regions) {
		return fmt.Sprintf("%d regions, want %d", len(got), len(w.model.Regions))
	}
	for i := range got {
		g, want := &got[i], w.model.Regions[got[i].ID]
		if want == nil || int(g.Allocation) != want.Allocation || int(g.Registration) != want.Registration || g.Registered != want.Registered {
			return fmt.Sprintf("region %+v, want %+v", *g, want)
		}
		if n := len(w.model.Holders(g.ID)); len(g.Owners) != n {
			return fmt.Sprintf("region %s is held by %v, want %d owners", g.ID, g.Owners, n)
		}
	}
	return ""
}

func (w *world) compareOutbox() string {
	if len(w.model.Waiting) == 0 {
		return "" // and so has the library: its counter was compared
	}
	left := len(w.model.Waiting)
	for _, to := range w.lib.WaitingFor() {
		got, want := w.lib.Waiting(to), w.model.For(string(to))
		if !sameMessages(got, want) {
			return fmt.Sprintf("for %s wait %v, want %v", to, got, want)
		}
		left -= len(want)
	}
	if left != 0 {
		return fmt.Sprintf("%d messages wait, want %v", left, w.model.Waiting)
	}
	return ""
}

// sameMessages compares what waits for one peer: what one step queued is in
// order for each session.
func sameMessages(got []ownership.Outgoing, want []model.Queued) bool {
	if len(got) != len(want) {
		return false
	}
	for from := 0; from < len(want); {
		to := from + 1
		for to < len(want) && want[to].Step == want[from].Step {
			to++
		}
		if to > from+1 {
			slices.SortStableFunc(got[from:to], func(a, b ownership.Outgoing) int {
				return strings.Compare(a.Message.Session().String(), b.Message.Session().String())
			})
			slices.SortStableFunc(want[from:to], func(a, b model.Queued) int {
				return strings.Compare(libName(a.About).String(), libName(b.About).String())
			})
		}
		if !slices.EqualFunc(got[from:to], want[from:to], sameMessage) {
			return false
		}
		from = to
	}
	return true
}

func sameMessage(got ownership.Outgoing, want model.Queued) bool {
	return got.Message.Label() == want.Label && got.Message.Session() == libName(want.About) &&
		got.To.Accessor == ownership.Accessor(want.To.Accessor) && got.To.Incarnation == incarnation(want.To.Accessor, want.To.Life)
}
