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

// apply judges one effect by itself: each move must be one of its machine, and the
// invariants must hold. It follows the trace, whatever it finds. step is the step
// that had the effect, "" where none is known.
func (c *checker) apply(r *Record, line int, step string) {
	switch r.Effect {
	case effectAdmission:
		c.admissionMoved(r, line)
	case effectFatal:
		c.fatal = true
	case effectQueued:
		c.queued(r, line)
	case effectTakenBack:
		c.takenBack(r)
	case effectSettled, effectUnsettled:
		if s := c.session(r.Session); s != nil {
			s.settled = r.Effect == effectSettled
		}
	case effectSession:
		c.sessionEnded(r, line)
	case effectClosed:
		c.sessionClosed(r, line)
	case effectPiece:
		c.pieceAdded(r, line)
	case effectReuse:
		c.reused(r, line)
	default:
		c.pieceEffect(r, line, step)
	}
}

func (c *checker) pieceEffect(r *Record, line int, step string) {
	p := c.known(r, line)
	if p == nil {
		return
	}
	switch r.Effect {
	case effectClaim:
		c.claimMoved(p, r, line, step)
	case effectGate:
		c.gateMoved(p, r, line)
	case effectEnded:
		c.pieceEnded(p, r, line)
	case effectInvalid:
		p.invalid = true
	case effectReleased:
		c.pieceReleased(p, r, line)
		return
	}
	p.note(line, r.text())
}

// known finds the piece of an effect. One that is not known breaks I16, or I8
// where it was released before.
func (c *checker) known(r *Record, line int) *piece {
	if p := c.pieceNamed(r.Session, r.Piece); p != nil {
		return p
	}
	name := r.Session + ":" + r.Piece
	if at, was := c.released.set[name]; was {
		switch {
		case r.Effect == effectReleased:
			c.find(line, "I8", fmt.Sprintf("piece %s is released again; line %d released it", name, at), nil)
		case !c.report.Header.Imported:
			c.find(line, "I8", fmt.Sprintf("piece %s changes after its release in line %d", name, at), nil)
		case r.Effect == effectClaim && r.Event == claim.Publish.String():
			c.find(line, "I8", fmt.Sprintf("piece %s is published after its release in line %d", name, at), nil)
		}
		return nil
	}
	if !c.report.Header.Imported {
		if c.steps {
			c.find(line, "I16", "piece "+name+" was never added", nil)
		}
		return nil
	}
	return c.newPiece(c.session(r.Session), &PieceSpec{Name: r.Piece, Region: r.Region}, line)
}

// session finds a session; an imported trace has it from its first mention on.
func (c *checker) session(name string) *session {
	s := c.owned[name]
	if s == nil && c.report.Header.Imported {
		s = c.newSession(name, "", 1, 1)
	}
	return s
}

func (c *checker) newPiece(s *session, spec *PieceSpec, line int) *piece {
	p := &piece{
		name: spec.Name, session: s, region: spec.Region, gate: gate.Open, outcome: outcome.Active,
		need: spec.Count, local: spec.Local, access: region.AccessWrite,
	}
	if spec.Access == "reads" || spec.Access == "" && s.side == "send" {
		p.access = region.AccessRead
	}
	if p.need == 0 {
		p.need = len(spec.Cohort)
	}
	for _, m := range spec.Cohort {
		p.claims = append(p.claims, hold{accessor: m.Accessor, incarnation: m.Incarnation, state: claim.Unpublished, verdict: verdict.None, line: line})
	}
	if spec.Local {
		p.claims = append(p.claims, hold{accessor: local, state: claim.Unpublished, verdict: verdict.None, line: line})
	}
	s.pieces = append(s.pieces, p)
	c.report.Pieces++
	c.report.Claims += len(p.claims)
	p.note(line, "piece "+p.name+": added")
	if c.report.Header.Imported && p.region != "" {
		c.holders[p.region] = append(c.holders[p.region], p)
	}
	return p
}

// proofs are the events that may end a live claim.
var proofs = []claim.Event{claim.Unexposed, claim.DoneOK, claim.DoneFailed, claim.Settle, claim.Acked, claim.Fence}

func (c *checker) claimMoved(p *piece, r *Record, line int, step string) {
	var e claim.Event
	if err := e.UnmarshalText([]byte(r.Event)); err != nil {
		c.findPiece(p, line, "trace", fmt.Sprintf("unknown event %q of a claim", r.Event), "one of the events of spec/claim.yaml")
		return
	}
	i := p.find(r.Accessor)
	if i < 0 {
		if !c.report.Header.Imported {
			c.findPiece(p, line, "claim", r.Accessor+" has no claim on piece "+p.name, "evidence from outside of the cohort is a conflict")
			return
		}
		i = len(p.claims)
		p.claims = append(p.claims, hold{accessor: r.Accessor, state: claim.Unpublished, verdict: verdict.None, line: line})
		p.need++
		c.report.Claims++
	}
	h := &p.claims[i]
	from := h.state
	to, ok := c.claimCell(p, h, e, r, line, step)
	if e == claim.Publish && from == claim.Unpublished {
		c.published(p, r, line)
	}
	if ok {
		c.verdictHeard(p, h, e, line)
	}
	if to != from {
		h.state, h.line, h.late = to, line, e == claim.Settle
	}
}

// claimCell judges the move against the cell of the machine, and returns the state
// that the trace goes on with, and whether the cell takes the event as it is told.
func (c *checker) claimCell(p *piece, h *hold, e claim.Event, r *Record, line int, step string) (claim.State, bool) {
	from := h.state
	if r.From != "" && r.From != from.String() {
		c.findPiece(p, line, "claim", fmt.Sprintf("the claim of %s was %v (line %d), not %s", h.accessor, from, h.line, r.From), "")
	}
	next, result := claim.Next(from, e)
	c.cell("claim", from.String(), e.String())
	spec := fmt.Sprintf("%v in %v: %v", e, from, result)
	if err := claim.Refusal(from, e); err != nil {
		spec += ": " + err.Error()
	} else if next != from {
		spec += " to " + next.String()
	}
	to := next
	if r.To != "" {
		if err := to.UnmarshalText([]byte(r.To)); err != nil {
			c.findPiece(p, line, "trace", fmt.Sprintf("unknown state %q of a claim", r.To), "one of the states of spec/claim.yaml")
			return from, false
		}
	}
	told := r.To != "" && (to != next || next == from)
	switch {
	case from.Live() && to.Reusable() && (step == "deadline" || step == "tick" || !slices.Contains(proofs, e)):
		c.findPiece(p, line, "I6", fmt.Sprintf("the claim of %s goes from %v to %v by %v, which proves nothing", h.accessor, from, to, e), spec)
	case result.Refused() || told:
		what := fmt.Sprintf("the claim of %s takes %v in %v", h.accessor, e, from)
		if r.To != "" {
			what += " to " + r.To
		}
		c.findPiece(p, line, "claim", what, spec)
		return to, false
	}
	return to, true
}

// published judges a publication.
func (c *checker) published(p *piece, r *Record, line int) {
	switch {
	case c.fatal:
		c.findPiece(p, line, "I9", "the memory is published to "+r.Accessor+" after FATAL", "")
	case p.gate == gate.Aborted:
		c.findPiece(p, line, "I2", "the memory is published to "+r.Accessor+" although cancel won the gate", "")
	case p.outcome != outcome.Active || p.session.outcome != outcome.Active:
		c.findPiece(p, line, "I2", "the memory is published to "+r.Accessor+" although the answer is there", "")
	case c.report.Header.Imported || r.Accessor == local:
	case p.gate != gate.Publishing:
		c.findPiece(p, line, "gate", fmt.Sprintf("the memory is published to %s while the gate is %v", r.Accessor, p.gate), "seal moves the gate to PUBLISHING first")
	}
}

// verdictHeard offers a result to the verdict.
func (c *checker) verdictHeard(p *piece, h *hold, e claim.Event, line int) {
	said := verdict.DoneOK
	switch e {
	case claim.DoneOK:
	case claim.DoneFailed:
		said = verdict.DoneFailed
	default:
		return
	}
	c.cell("verdict", h.verdict.String(), said.String())
	next, result := verdict.Next(h.verdict, said)
	if result.Refused() {
		c.findPiece(p, line, "verdict", fmt.Sprintf("%s says %v after %v", h.accessor, said, h.verdict), verdict.Refusal(h.verdict, said).Error())
	}
	h.verdict = next
}

func (c *checker) gateMoved(p *piece, r *Record, line int) {
	var from, to gate.State
	if from.UnmarshalText([]byte(r.From)) != nil || to.UnmarshalText([]byte(r.To)) != nil {
		c.findPiece(p, line, "trace", fmt.Sprintf("unknown states %q, %q of a gate", r.From, r.To), "the states of spec/gate.yaml")
		return
	}
	if from != p.gate {
		c.findPiece(p, line, "gate", fmt.Sprintf("the gate was %v, not %v", p.gate, from), "")
	}
	legal := false
	for _, e := range gate.AllEvents() {
		if next, result := gate.Next(p.gate, e); !result.Refused() && next == to && next != p.gate {
			legal = true
			c.cell("gate", p.gate.String(), e.String())
		}
	}
	switch {
	case legal:
	case p.gate == gate.Aborted:
		c.findPiece(p, line, "I2", "the gate leaves ABORTED", "")
	default:
		c.findPiece(p, line, "gate", fmt.Sprintf("the gate goes from %v to %v", p.gate, to), "no event of the gate does that")
	}
	if to == gate.Publishing && c.fatal {
		c.findPiece(p, line, "I9", "a publication begins after FATAL", "")
	}
	p.gate = to
}

func (c *checker) pieceReleased(p *piece, r *Record, line int) {
	whole := func(rule, what string) { c.findPiece(p, line, rule, "piece "+p.name+" is released "+what, "") }
	switch i := slices.IndexFunc(p.claims, func(h hold) bool { return h.state.Live() }); {
	case i >= 0:
		h := &p.claims[i]
		whole("I1", fmt.Sprintf("while the claim of %s is %v since line %d: it may still touch the memory", h.accessor, h.state, h.line))
	case p.gate == gate.Publishing:
		whole("I1", "while its gate is PUBLISHING")
	case !c.report.Header.Imported && !p.gate.Shut():
		whole("I1", "while its gate is "+p.gate.String())
	}
	if p.invalid {
		whole("I7", "although contradictory evidence made it invalid")
	}
	if c.fatal {
		whole("I9", "after FATAL")
	}
	if p.region != "" && r.Region != "" && r.Region != p.region {
		whole("trace", "with region "+r.Region+", and it owned "+p.region)
	}
	if held := c.regions[p.region]; held != nil {
		_, _ = held.GiveBack(nil)
	}
	s := p.session
	s.pieces = slices.DeleteFunc(slices.Clone(s.pieces), func(o *piece) bool { return o == p })
	c.holders[p.region] = slices.DeleteFunc(c.holders[p.region], func(o *piece) bool { return o == p })
	if len(c.holders[p.region]) == 0 {
		delete(c.holders, p.region)
	}
	if c.report.Header.Imported && len(s.pieces) == 0 {
		delete(c.owned, s.name)
	}
	c.released.put(s.name+":"+p.name, line)
	c.report.Released++
}
