// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

// resolve finds the claim that evidence names; index -1: somebody outside of the cohort.
func (d *prediction) resolve(r *Record, side string) (*piece, int, answer) {
	s := d.owned[r.Session]
	if s == nil {
		return nil, 0, stale("the session is not owned")
	}
	if side != "" && s.side != side {
		return nil, 0, answer{true, "invalid_argument", "it is of a " + s.side + " session"}
	}
	p := s.piece(r.Piece)
	switch {
	case p == nil:
		return nil, 0, stale("the piece is not owned")
	case r.Owner != p.owner:
		return nil, 0, stale("its owner is another incarnation of the endpoint")
	}
	offset := r.Claim - p.first // wraps where it is smaller
	within := offset < uint64(len(p.claims))
	if within && p.claims[offset].accessor == r.Accessor {
		if h := &p.claims[offset]; r.Accessor != local && h.incarnation != r.Incarnation {
			return nil, 0, stale("it names another incarnation of " + r.Accessor)
		}
		return p, int(offset), good
	}
	if !within || p.find(r.Accessor) >= 0 {
		return nil, 0, stale("its sequence is not the current one")
	}
	if d.gone[Member{Accessor: r.Accessor, Incarnation: r.Incarnation}] {
		return nil, 0, stale("its accessor's incarnation is gone")
	}
	return p, -1, good
}

func (d *prediction) operation(g *group) answer {
	r := &g.step
	var status operation.Status
	if err := status.UnmarshalText([]byte(r.Status)); err != nil {
		return answer{true, "invalid_argument", "no such status"}
	}
	p, i, a := d.resolve(r, "send")
	switch {
	case a.kind != "":
		return a
	case i < 0:
		return refused(d.on(p, nil, func(s *send.System) ([]send.Effect, error) { return s.Outsider(status, d.fatalRules, nil) }))
	}
	if e := p.tx.Offered(i, status); e.IsValid() && p.tx.Judged(i, status) == operation.ActionOffer {
		d.cell("claim", p.tx.Claims(i).String(), e.String())
	}
	return refused(d.on(p, nil, func(s *send.System) ([]send.Effect, error) { return s.Operate(i, status, d.fatalRules, nil) }))
}

var evidenceNames = map[string]report.Evidence{
	"ok": report.EvidenceOK, "failed": report.EvidenceFailed, "in_doubt": report.EvidenceInDoubt, "failed_quiesced": report.EvidenceFailedQuiesced,
}

func (d *prediction) report(g *group) answer {
	r := &g.step
	if r.Sender != r.Accessor {
		return answer{true, "reject", "the report comes from " + r.Sender}
	}
	says, ok := evidenceNames[r.Evidence]
	if !ok {
		return answer{true, "invalid_argument", "no such evidence"}
	}
	p, i, a := d.resolve(r, "receive")
	switch {
	case a.kind != "":
		return a
	case i < 0:
		return refused(d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.Outsider(nil) }, nil))
	case p.claims[i].gone:
		return stale("its accessor's incarnation is gone")
	}
	d.cell("claim", p.rx.Claims(i).String(), eventOf[says])
	return refused(d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.Hear(i, says, nil) }, nil))
}

var eventOf = map[report.Evidence]string{
	report.EvidenceOK: "done_ok", report.EvidenceFailed: "done_failed", report.EvidenceInDoubt: "doubt", report.EvidenceFailedQuiesced: "settle",
}

func (d *prediction) ack(g *group) answer {
	r := &g.step
	s := d.owned[r.Session]
	switch {
	case s == nil:
		return stale("the session is not owned")
	case s.side != "receive":
		return answer{true, "invalid_argument", "it is of the send side"}
	case d.gone[Member{Accessor: r.Accessor, Incarnation: r.Incarnation}]:
		return stale("its accessor's incarnation is gone")
	}
	out, err := s.rules.Acknowledge(s.place(r), nil)
	for _, e := range out {
		for _, p := range s.pieces {
			switch e.Kind {
			case sessionrules.OfferAckedEffect:
				if i := p.find(r.Accessor); i >= 0 && p.claims[i].incarnation == r.Incarnation && !p.rx.Fenced(i) {
					d.cell("claim", p.rx.Claims(i).String(), "acked")
					_ = d.on(p, func(x *receive.System) ([]receive.Effect, error) { return x.Acknowledge(i, nil) }, nil)
				}
			case sessionrules.LatchPiecesEffect:
				_ = d.on(p, func(x *receive.System) ([]receive.Effect, error) { return x.Outsider(nil) }, nil)
			}
		}
	}
	return refused(err)
}

// place says what the sender of an acknowledgement is to the session.
func (s *session) place(r *Record) sessionrules.Place {
	named, member := false, false
	for _, p := range s.pieces {
		i := p.find(r.Accessor)
		if i < 0 || i >= p.size() {
			continue
		}
		named = true
		if p.claims[i].incarnation != r.Incarnation {
			continue
		}
		member = true
		if !p.rx.Fenced(i) {
			return sessionrules.PlaceMember
		}
	}
	switch {
	case member:
		return sessionrules.PlaceEnded
	case named:
		return sessionrules.PlaceOtherLife
	}
	return sessionrules.PlaceOutsider
}

func (d *prediction) localEvent(g *group) answer {
	r := &g.step
	p, i, a := d.resolve(r, "")
	if a.kind != "" {
		return a
	}
	if i < 0 || !p.local {
		return answer{true, "invalid_argument", "the piece has no local claim"}
	}
	switch r.Event {
	case "start":
		return refused(d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.LocalStart(d.fatalRules, nil) },
			func(s *send.System) ([]send.Effect, error) { return s.LocalStart(d.fatalRules, nil) }))
	case "done":
		return refused(d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.LocalDone(nil) },
			func(s *send.System) ([]send.Effect, error) { return s.LocalDone(nil) }))
	case "doubt":
		return refused(d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.LocalDoubt(nil) },
			func(s *send.System) ([]send.Effect, error) { return s.LocalDoubt(nil) }))
	}
	return answer{true, "invalid_argument", "no such local event"}
}

func (d *prediction) fence(g *group) answer {
	r := &g.step
	d.each(r.Accessor, r.Incarnation, func(p *piece, i int) {
		if !reaches(r.Scope, p.session.side, r.Accessor) {
			return
		}
		if i == p.size() {
			_ = d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.LocalFence(nil) },
				func(s *send.System) ([]send.Effect, error) { return s.LocalFence(nil) })
			return
		}
		_ = d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.Fence(i, nil) },
			func(s *send.System) ([]send.Effect, error) { return s.Fence(i, nil) })
	})
	return good
}

// reaches reports whether a fence is proof for the memory of a session on side.
func reaches(scope, side, accessor string) bool {
	if accessor == local {
		return scope != "passive"
	}
	return scope == "all" || (scope == "own") == (side == "send")
}

func (d *prediction) goneLife(g *group) answer {
	r := &g.step
	d.each(r.Accessor, r.Incarnation, func(p *piece, i int) {
		p.claims[i].gone = true
		d.gone[Member{Accessor: r.Accessor, Incarnation: p.claims[i].incarnation}] = true
		_ = d.on(p, func(s *receive.System) ([]receive.Effect, error) { return s.Gone(i, nil) },
			func(s *send.System) ([]send.Effect, error) { return s.Gone(i, nil) })
	})
	return good
}

// each visits the claims of an accessor, of all of its lives where life is "", in
// the order of admission.
func (d *prediction) each(accessor, life string, visit func(*piece, int)) {
	for _, s := range d.inOrder() {
		if s.broken {
			continue
		}
		for _, p := range s.pieces {
			if i := p.find(accessor); i >= 0 && (life == "" || p.claims[i].incarnation == life) {
				visit(p, i)
			}
		}
	}
}
