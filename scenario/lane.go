// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// Lane is the states of one thing over the steps of a run: of a session, of a
// piece's gate, of a claim, or of the registry's admission.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is a state that held from before the step with the number From (from 0)
// ended until before the step To did.
type Span struct {
	From, To int
	State    string
}

// Lanes returns the lanes of a run in the order of the names; admission comes
// first, if it changed. A lane begins with its first change. What never changed
// and is still owned has one span over the whole run.
func Lanes(r *Report) []Lane {
	b := laneBuilder{lanes: make(map[string]*Lane)}
	for i := range r.Steps {
		for _, e := range r.Steps[i].Effects {
			b.take(i, e)
		}
	}
	for _, s := range r.Final.Sessions {
		b.owned(len(r.Steps), s)
	}
	out := make([]Lane, 0, len(b.lanes))
	for _, l := range b.lanes {
		if n := len(l.Spans); l.Spans[n-1].To == open {
			l.Spans[n-1].To = len(r.Steps)
		}
		l.Spans = slices.DeleteFunc(l.Spans, func(s Span) bool { return s.From == s.To })
		if len(l.Spans) > 0 {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(x, y Lane) int {
		return cmp.Or(cmp.Compare(laneRank(x.Name), laneRank(y.Name)), strings.Compare(x.Name, y.Name))
	})
	return out
}

// open ends a span that has not ended yet.
const open = -1

const admissionLane = "admission"

func laneRank(name string) int {
	if name == admissionLane {
		return 0
	}
	return 1
}

type laneBuilder struct{ lanes map[string]*Lane }

func (b *laneBuilder) take(step int, e ownership.Effect) {
	switch e := e.(type) {
	case *ownership.ClaimMoved:
		b.move(step, pieceText(e.Claim().Piece)+" "+string(e.Claim().Accessor), e.To.String())
	case *ownership.GateMoved:
		b.move(step, pieceText(e.Piece)+" gate", e.To.String())
	case *ownership.SessionEnded:
		b.move(step, sessionText(e.Session), e.Outcome.String())
	case *ownership.AdmissionChanged:
		b.move(step, admissionLane, e.To.String())
	case *ownership.SessionClosed:
		b.end(step, sessionText(e.Session))
	case *ownership.Released:
		for name := range b.lanes {
			if strings.HasPrefix(name, pieceText(e.Piece)+" ") {
				b.end(step, name)
			}
		}
	}
}

// owned adds what is owned at the end and never moved.
func (b *laneBuilder) owned(steps int, s ownership.SessionState) {
	b.never(steps, sessionText(s.Name), outcome.Initial.String())
	for _, p := range s.Pieces {
		b.never(steps, pieceText(p.Name)+" gate", gate.Initial.String())
		for _, c := range claimsOf(&p) {
			b.never(steps, pieceText(p.Name)+" "+string(c.Name.Accessor), claim.Initial.String())
		}
	}
}

func (b *laneBuilder) never(steps int, name, state string) {
	if b.lanes[name] == nil {
		b.lanes[name] = &Lane{name, []Span{{0, steps, state}}}
	}
}

func (b *laneBuilder) move(step int, name, state string) {
	l := b.lanes[name]
	if l == nil {
		l = &Lane{Name: name}
		b.lanes[name] = l
	}
	b.end(step, name)
	l.Spans = append(l.Spans, Span{step, open, state})
}

func (b *laneBuilder) end(step int, name string) {
	if l := b.lanes[name]; l != nil && len(l.Spans) > 0 {
		if last := &l.Spans[len(l.Spans)-1]; last.To == open {
			last.To = step
		}
	}
}

func claimsOf(p *ownership.PieceState) []ownership.ClaimState {
	if p.Local == nil {
		return p.Claims
	}
	return append(slices.Clone(p.Claims), *p.Local)
}
