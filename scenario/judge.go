// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"strconv"

	"github.com/kvxfer/kvxfer/ownership"
)

// judge compares one expectation with what is.
func (r *runner) judge(e *Expectation) {
	switch e.subject.kind {
	case subjectOutbox:
		r.judgeOutbox(e)
	case subjectPiece:
		r.judgePiece(e)
	case subjectSession:
		s, closed, known := r.memory.session(r.names.session(e.subject.ref))
		switch {
		case known:
			r.compare(e, sessionField(&s, closed, r.memory.released[s.Name], e.field))
		case r.cancelled != nil && r.cancelled.Outcome.IsValid() && e.subject.ref.id == r.step.Step.act.(cancelStep).session.id:
			// The cancel came before the session: its own answer is all there is.
			c := r.cancelled
			s = ownership.SessionState{Outcome: c.Outcome, Cause: c.Cause, Origin: c.Origin, Physical: c.Physical}
			r.compare(e, sessionField(&s, false, 0, e.field))
		default:
			r.fail("%s was never admitted", e.subject)
		}
	default:
		r.compare(e, registryField(r.reg.Snapshot(), e.field))
	}
}

func (r *runner) compare(e *Expectation, got string) {
	if got != e.word {
		r.fail("%s: %s is %s, want %s", e.subject, e.field, got, e.word)
	}
}

func (r *runner) judgeOutbox(e *Expectation) {
	got := []string{}
	for _, m := range r.reg.Waiting(ownership.Accessor(e.subject.peer)) {
		got = append(got, m.Message.Label())
	}
	if !slices.Equal(got, e.list) {
		r.fail("%s is %v, want %v", e.subject, got, e.list)
	}
}

func (r *runner) judgePiece(e *Expectation) {
	p, known := r.memory.piece(r.names.piece(e.subject.ref))
	if !known {
		r.fail("%s was never added", e.subject)
		return
	}
	if e.words == nil {
		r.compare(e, pieceField(&p, e.field))
		return
	}
	got := make(map[string]string)
	for _, c := range p.Claims {
		got[string(c.Name.Accessor)] = c.State.String()
		if e.field == "verdicts" {
			got[string(c.Name.Accessor)] = c.Verdict.String()
		}
	}
	for a, want := range e.words {
		if got[a] == "" {
			r.fail("%s: %s has no accessor %s", e.subject, e.field, a)
		} else if got[a] != want {
			r.fail("%s: %s of %s is %s, want %s", e.subject, e.field, a, got[a], want)
		}
	}
}

func pieceField(p *ownership.PieceState, field string) string {
	switch field {
	case "gate":
		return p.Gate.String()
	case "drained":
		return strconv.FormatBool(p.Drained)
	case "invalid":
		return strconv.FormatBool(p.Invalid)
	case "outcome":
		return p.Outcome.String()
	}
	if p.Local == nil {
		return "none"
	}
	return p.Local.State.String()
}

func sessionField(s *ownership.SessionState, closed bool, released int, field string) string {
	switch field {
	case "outcome":
		return s.Outcome.String()
	case "origin":
		return s.Origin.String()
	case "cause":
		return s.Cause.String()
	case "released":
		return strconv.Itoa(released)
	case "closed":
		return strconv.FormatBool(closed)
	}
	return s.Physical.String()
}

func registryField(s ownership.Snapshot, field string) string {
	n := s.Counters
	switch field {
	case "admission":
		return s.Admission.String()
	case "owners":
		return strconv.Itoa(n.Owners)
	case "retained":
		return strconv.Itoa(n.Retained)
	case "fatal":
		return strconv.FormatBool(s.Fatal)
	case "contained":
		return strconv.Itoa(n.Contained)
	case "stale":
		return strconv.FormatUint(n.Stale, 10)
	case "duplicates":
		return strconv.FormatUint(n.Duplicates, 10)
	case "ignored":
		return strconv.FormatUint(n.Ignored, 10)
	}
	return strconv.Itoa(n.Outbox)
}
