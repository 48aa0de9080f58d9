// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/region"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

func (c *checker) pieceEnded(p *piece, r *Record, line int) {
	how, ok := c.answerOf(r, line, p)
	if !ok {
		return
	}
	if !c.first(p.outcome, how) {
		c.findPiece(p, line, "I3", fmt.Sprintf("piece %s is %v after %v", p.name, how, p.outcome), "")
		return
	}
	if how == outcome.Succeeded && p.outcome == outcome.Active {
		c.success(p, line)
	}
	p.outcome = how
}

// answerOf reads an outcome; ACTIVE is none.
func (c *checker) answerOf(r *Record, line int, p *piece) (outcome.State, bool) {
	var how outcome.State
	if err := how.UnmarshalText([]byte(r.Outcome)); err != nil || !how.Terminal() {
		c.findPiece(p, line, "trace", fmt.Sprintf("%q is no outcome", r.Outcome), "SUCCEEDED, FAILED or CANCELLED")
		return 0, false
	}
	return how, true
}

// first reports whether an answer may come: there is none, or, in an imported log,
// the same is said again.
func (c *checker) first(was, how outcome.State) bool {
	for _, e := range outcome.AllEvents() {
		if next, _ := outcome.Next(outcome.Active, e); next == how {
			c.cell("outcome", was.String(), e.String())
		}
	}
	return was == outcome.Active || c.report.Header.Imported && was == how
}

// success judges a SUCCEEDED by what the claims say.
func (c *checker) success(p *piece, line int) {
	say := func(rule, what string) { c.findPiece(p, line, rule, "piece "+p.name+" SUCCEEDED "+what, "") }
	delivered := 0
	for i := range p.claims {
		switch h := &p.claims[i]; {
		case h.state.Live():
			say("I4", fmt.Sprintf("while the claim of %s is %v", h.accessor, h.state))
			return
		case h.accessor == local:
			if h.state != claim.Drained && p.local {
				say("I4", "while its local claim is "+h.state.String())
				return
			}
		case h.state == claim.Drained && h.verdict == verdict.OK:
			delivered++
		}
	}
	switch {
	case p.invalid:
		say("I4", "although it is invalid")
	case !c.report.Header.Imported && p.gate != gate.Sealed:
		say("I4", "while its gate is "+p.gate.String())
	case delivered >= p.need:
	case slices.ContainsFunc(p.claims, func(h hold) bool { return h.state == claim.FailedQuiesced }):
		say("I5", fmt.Sprintf("with %d of %d delivered; the rest has only ended", delivered, p.need))
	default:
		say("I4", fmt.Sprintf("with %d of %d delivered", delivered, p.need))
	}
}

func (c *checker) sessionEnded(r *Record, line int) {
	s := c.session(r.Session)
	if s == nil {
		if c.steps {
			c.find(line, "I16", "session "+r.Session+" was never admitted", nil)
		}
		return
	}
	var p *piece
	if len(s.pieces) > 0 {
		p = s.pieces[0]
		p.note(line, r.text())
	}
	how, ok := c.answerOf(r, line, p)
	if !ok {
		return
	}
	if !c.first(s.outcome, how) {
		c.findPiece(p, line, "I3", fmt.Sprintf("session %s is %v after %v", s.name, how, s.outcome), "")
		return
	}
	if how == outcome.Succeeded {
		c.sessionSucceeded(s, line)
	}
	s.outcome = how
}

// sessionSucceeded judges a session's success by its pieces.
func (c *checker) sessionSucceeded(s *session, line int) {
	for _, p := range s.pieces {
		switch {
		case c.report.Header.Imported && p.outcome == outcome.Active:
			c.success(p, line)
			p.outcome = outcome.Succeeded
		case p.outcome != outcome.Succeeded:
			c.findPiece(p, line, "I4", fmt.Sprintf("session %s SUCCEEDED while its piece %s is %v", s.name, p.name, p.outcome), "")
		}
	}
}

func (c *checker) sessionClosed(r *Record, line int) {
	s := c.owned[r.Session]
	switch {
	case s == nil:
		if !c.report.Header.Imported && c.steps {
			c.find(line, "I8", "session "+r.Session+" is closed, and it is not owned", nil)
		}
		return
	case c.fatal:
		c.find(line, "I9", "session "+r.Session+" is closed after FATAL", nil)
	case len(s.pieces) > 0 && !c.report.Header.Imported:
		c.findPiece(s.pieces[0], line, "I16", "session "+r.Session+" is closed while its piece "+s.pieces[0].name+" is not released", "")
	}
	if r.Outcome != "" && r.Outcome != s.outcome.String() {
		c.find(line, "I3", fmt.Sprintf("session %s is closed as %s, and it was %v", s.name, r.Outcome, s.outcome), nil)
	}
	if c.report.Header.Imported {
		c.closeImported(s, line)
	}
}

// closeImported is the end of a request in another engine's log: whatever of it
// was not released is now.
func (c *checker) closeImported(s *session, line int) {
	for _, p := range s.pieces {
		c.pieceReleased(p, &Record{}, line)
	}
	delete(c.owned, s.name)
}

// pieceAdded is an imported record: memory has an owner from now on.
func (c *checker) pieceAdded(r *Record, line int) {
	if !c.report.Header.Imported {
		c.find(line, "trace", "an effect of imported logs in a trace with steps", nil)
		return
	}
	if c.pieceNamed(r.Session, r.Piece) != nil {
		return // told again
	}
	for _, other := range c.holders[r.Region] {
		c.findPiece(other, line, "I12", fmt.Sprintf("region %s has a new owner, piece %s:%s, while %s:%s owns it", r.Region, r.Session, r.Piece, other.session.name, other.name), "")
	}
	spec := PieceSpec{Name: r.Piece, Region: r.Region}
	if r.Accessor != "" {
		spec.Cohort = []Member{{Accessor: r.Accessor}}
	}
	c.newPiece(c.session(r.Session), &spec, line)
}

// reused is an imported record: the memory was handed to somebody else, or torn down.
func (c *checker) reused(r *Record, line int) {
	for _, p := range c.holders[r.Region] {
		rule, state := "I12", "not released"
		for i := range p.claims {
			if h := &p.claims[i]; h.state.Live() {
				rule, state = "I1", fmt.Sprintf("%v by %s since line %d", h.state, h.accessor, h.line)
			}
		}
		c.findPiece(p, line, rule, fmt.Sprintf("region %s is used again while piece %s:%s is %s", r.Region, p.session.name, p.name, state), "")
	}
	if held := c.regions[r.Region]; held != nil && held.Holder() != region.HolderNobody {
		c.find(line, "I12", "region "+r.Region+" is used again while it is owned", nil)
	}
}

// admissions are the legal changes of admission; FATAL is never left.
var admissions = map[string][]string{
	"OPEN": {"QUARANTINED", "CLOSED", "FATAL"}, "QUARANTINED": {"OPEN", "CLOSED", "FATAL"}, "CLOSED": {"FATAL"}, "FATAL": nil,
}

func (c *checker) admissionMoved(r *Record, line int) {
	switch {
	case r.From != c.admission:
		c.find(line, "trace", "admission was "+c.admission+", not "+r.From, nil)
	case !slices.Contains(admissions[r.From], r.To):
		rule := "step"
		if r.From == "FATAL" {
			rule = "I9"
		}
		c.find(line, rule, "admission goes from "+r.From+" to "+r.To, nil)
	case r.To == "FATAL" && !c.fatal:
		c.find(line, "I10", "admission is FATAL before a grace deadline has passed", nil)
	}
	c.admission = r.To
}

// totals judges the counters at the end of a trace.
func (c *checker) totals(r *Record, line int) {
	n := r.Counters
	switch {
	case n == nil:
		c.find(line, "trace", "the end has no counters", nil)
	case n.Admitted != n.Released+uint64(n.Owners):
		c.find(line, "I17", fmt.Sprintf("%d admitted, %d released, %d owned", n.Admitted, n.Released, n.Owners), nil)
	case c.report.Lost == 0 && (n.Admitted != uint64(c.report.Pieces) || n.Released != uint64(c.report.Released)):
		c.find(line, "I17", fmt.Sprintf("%d admitted and %d released, and the trace shows %d and %d", n.Admitted, n.Released, c.report.Pieces, c.report.Released), nil)
	}
}
