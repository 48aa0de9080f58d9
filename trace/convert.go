// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"github.com/kvxfer/kvxfer/ownership"
)

// records returns the lines of a step and of its effects.
func records(s *ownership.Step) []Record {
	list := make([]Record, 0, 1+len(s.Effects))
	if s.Call != ownership.CallTick || len(s.Effects) > 0 {
		list = append(list, ofStep(s))
	}
	for _, e := range s.Effects {
		list = append(list, ofEffect(e))
	}
	return list
}

func ofStep(s *ownership.Step) Record {
	r := Record{
		Step: s.Call.String(), At: int64(s.At), Region: s.Region, Endpoint: s.Endpoint, Number: s.Number, First: s.First, Cause: string(s.Reason),
		Timeout: int64(s.Timeout), Grace: int64(s.Grace),
	}
	if k := ownership.KindOf(s.Err); k != 0 {
		r.Answer = k.String()
	}
	if s.Session != (ownership.SessionName{}) {
		r.Session = s.Session.String()
	}
	if s.Side != 0 {
		r.Side = s.Side.String()
	}
	if s.Origin != 0 {
		r.Origin = s.Origin.String()
	}
	for _, p := range s.Pieces {
		r.Session, r.Names = p.Session.String(), append(r.Names, p.Piece)
	}
	for _, a := range s.Published {
		r.Published = append(r.Published, string(a))
	}
	for i := range s.Added {
		r.Session = s.Added[i].Name.Session.String()
		r.Pieces = append(r.Pieces, ofPiece(&s.Added[i]))
	}
	addressed(s, &r)
	return r
}

// addressed fills in whom evidence comes from, and what it is about.
func addressed(s *ownership.Step, r *Record) {
	if !s.From.Incarnation.IsZero() {
		r.Incarnation = s.From.Incarnation.String()
	}
	switch s.Call {
	case ownership.CallOperation, ownership.CallReport, ownership.CallLocal:
		claimNamed(s.Claim, r)
	default:
		r.Accessor = string(s.From.Accessor)
	}
	switch s.Call {
	case ownership.CallOperation:
		r.Status = s.Status.String()
	case ownership.CallReport:
		r.Evidence, r.Sender = s.Evidence.String(), string(s.From.Accessor)
	case ownership.CallLocal:
		r.Event = s.Local.String()
	case ownership.CallFence:
		r.Scope = s.Scope.String()
	case ownership.CallAddPieces:
		r.Owner = s.Life.String()
	case ownership.CallReincarnate:
		r.Incarnation = s.Life.String()
	}
}

func claimNamed(c ownership.ClaimName, r *Record) {
	r.Session, r.Piece, r.Accessor, r.Claim = c.Piece.Session.String(), c.Piece.Piece, string(c.Accessor), c.Sequence
	if !c.Owner.IsZero() {
		r.Owner = c.Owner.String()
	}
	if !c.Incarnation.IsZero() {
		r.Incarnation = c.Incarnation.String()
	}
}

func ofPiece(p *ownership.PieceSpec) PieceSpec {
	out := PieceSpec{Name: p.Name.Piece, Region: p.Region, Count: p.Count, Local: p.Local}
	if p.Access != 0 {
		out.Access = p.Access.String()
	}
	for _, m := range p.Cohort {
		out.Cohort = append(out.Cohort, Member{string(m.Accessor), m.Incarnation.String(), m.Sequence})
	}
	return out
}

func ofEffect(effect ownership.Effect) Record {
	stamp := effect.Stamped()
	r := Record{At: int64(stamp.At), Seq: stamp.Seq}
	switch e := effect.(type) {
	case *ownership.ClaimMoved:
		c := e.Claim()
		r.Effect, r.Session, r.Piece, r.Accessor, r.Claim = effectClaim, c.Piece.Session.String(), c.Piece.Piece, string(c.Accessor), c.Sequence
		r.Event, r.From, r.To = e.Event.String(), e.From.String(), e.To.String()
	case *ownership.GateMoved:
		r.Effect, r.From, r.To = effectGate, e.From.String(), e.To.String()
		r.pieceNamed(e.Piece)
	case *ownership.PieceEnded:
		r.Effect = effectEnded
		r.pieceNamed(e.Piece)
		r.answered(e.Outcome.String(), e.Cause, e.Origin)
	case *ownership.PieceInvalid:
		r.Effect = effectInvalid
		r.pieceNamed(e.Piece)
	case *ownership.SessionEnded:
		r.Effect, r.Session = effectSession, e.Session.String()
		r.answered(e.Outcome.String(), e.Cause, e.Origin)
	case *ownership.SessionSettled:
		r.Effect, r.Session = effectSettled, e.Session.String()
	case *ownership.SessionUnsettled:
		r.Effect, r.Session = effectUnsettled, e.Session.String()
	case *ownership.SessionClosed:
		r.Effect, r.Session = effectClosed, e.Session.String()
		r.answered(e.Outcome.String(), e.Cause, e.Origin)
	case *ownership.Released:
		r.Effect, r.Region = effectReleased, e.Region
		r.pieceNamed(e.Piece)
	case *ownership.Queued:
		r.Effect = effectQueued
		r.outgoing(&e.Outgoing)
	case *ownership.TakenBack:
		r.Effect = effectTakenBack
		r.outgoing(&e.Outgoing)
	case *ownership.AdmissionChanged:
		r.Effect, r.From, r.To = effectAdmission, e.From.String(), e.To.String()
	case *ownership.FatalLatched:
		r.Effect, r.Session, r.Deadline = effectFatal, e.Containment.Session.String(), int64(e.Containment.Deadline)
	}
	return r
}

func (r *Record) pieceNamed(p ownership.PieceName) { r.Session, r.Piece = p.Session.String(), p.Piece }

func (r *Record) answered(outcome string, cause ownership.Cause, origin ownership.Origin) {
	r.Outcome, r.Cause = outcome, string(cause)
	if origin != ownership.NoOrigin {
		r.Origin = origin.String()
	}
}

func (r *Record) outgoing(o *ownership.Outgoing) {
	r.Session, r.Accessor, r.Incarnation = o.Message.Session().String(), string(o.To.Accessor), o.To.Incarnation.String()
	r.Number, r.Message = o.Number, o.Message.Label()
	if m, ok := o.Message.(*ownership.Result); ok {
		r.Piece = m.Claim.Piece.Piece
	}
}
