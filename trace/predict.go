// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/region"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// verdict is the answer that the spec gives to a step.
type answer struct {
	known  bool // the systems say what it is
	kind   string
	reason string
}

var good = answer{known: true}

func refused(err error) answer {
	return answer{true, kindOf(err), reasonOf(err)}
}

func stale(why string) answer { return answer{true, "stale", why} }

// steps says for each step how it is made again.
var steps = map[string]func(*prediction, *group) answer{
	"admit": (*prediction).admit, "add_pieces": (*prediction).addPieces, "seal": (*prediction).seal, "finish": (*prediction).finish,
	"fail_send": (*prediction).failSend, "operation": (*prediction).operation, "report": (*prediction).report, "ack": (*prediction).ack,
	"local": (*prediction).localEvent, "fence": (*prediction).fence, "gone": (*prediction).goneLife, "cancel": (*prediction).cancel,
	"fail": (*prediction).fail, "fail_piece": (*prediction).failPiece, "complete": (*prediction).complete, "close": (*prediction).close,
	"stop": (*prediction).stop, "reincarnate": (*prediction).reincarnate, "add_region": (*prediction).addRegion,
	"reuse": (*prediction).reuse, "deregister": (*prediction).deregister, "remove_region": (*prediction).removeRegion,
	"reopen": nil, "watermark": nil, "requested": nil, "tick": nil, "delivered": nil, "deadline": nil,
}

// untimed are the steps that judge no deadline.
var untimed = []string{"add_region", "delivered"}

// predict makes a step again and returns what the spec wants.
func (d *prediction) predict(g *group) answer {
	r := &g.step
	if !slices.Contains(untimed, r.Step) {
		d.judge(time.Duration(r.At))
		d.now = time.Duration(r.At)
	}
	if r.Step == "deadline" {
		return good
	}
	if len(d.wants) > 0 {
		d.findSpec(g.line, "I10", "a deadline that lies before this step had no effect", d.wants[0].text)
		d.wants = d.wants[:0]
	}
	do := steps[r.Step]
	if do == nil || r.Answer == "invalid_argument" {
		return answer{}
	}
	a := do(d, g)
	d.flush()
	return a
}

func (d *prediction) admit(g *group) answer {
	r := &g.step
	if r.Answer != "" || d.owned[r.Session] != nil {
		return answer{}
	}
	s := d.newSession(r.Session, r.Side, time.Duration(r.Timeout), time.Duration(r.Grace))
	d.touchSession(s)
	if ended := g.effect(effectSession); ended != nil { // a cancel came before it
		who := trigger.OriginLocal
		if ended.Origin == originNames[trigger.OriginPeer] {
			who = trigger.OriginPeer
		}
		_ = d.decide(s, func() ([]sessionrules.Effect, error) { return s.rules.Cancel(who, nil) })
		d.spread(s)
	}
	return answer{}
}

func (d *prediction) addPieces(g *group) answer {
	r := &g.step
	s := d.owned[r.Session]
	switch {
	case s == nil:
		return stale("the session is not owned")
	case r.Answer != "":
		return answer{}
	case s.broken:
		d.adopt(g, s)
		return answer{}
	}
	for range r.Pieces {
		if _, err := s.rules.Add(nil); err != nil {
			d.adopt(g, s)
			return refused(err)
		}
	}
	for _, p := range d.adopt(g, s) {
		d.touch(p)
	}
	return good
}

// together finds the pieces of one gate action.
func (d *prediction) together(r *Record) ([]*piece, answer) {
	s := d.owned[r.Session]
	if s == nil {
		return nil, stale("the session is not owned")
	}
	var list []*piece
	for _, name := range r.Names {
		p := s.piece(name)
		if p == nil {
			return nil, stale("the piece is not owned")
		}
		list = append(list, p)
	}
	return list, good
}

// allOrNone makes a gate action on several pieces, or on none if one refuses.
func (d *prediction) allOrNone(r *Record, rx func(*receive.System) ([]receive.Effect, error), tx func(*send.System) ([]send.Effect, error)) answer {
	list, a := d.together(r)
	if a.kind != "" || len(list) == 0 {
		return a
	}
	for _, p := range list {
		if err := ask(p, rx, tx); err != nil && len(list) > 1 {
			return refused(err)
		}
	}
	for _, p := range list {
		if err := d.on(p, rx, tx); err != nil {
			return refused(err)
		}
	}
	return good
}

// ask makes the call on a copy.
func ask(p *piece, rx func(*receive.System) ([]receive.Effect, error), tx func(*send.System) ([]send.Effect, error)) error {
	if p.rx != nil {
		rules := *p.rx
		_, err := rx(&rules)
		return err
	}
	rules := *p.tx
	_, err := tx(&rules)
	return err
}

func (d *prediction) seal(g *group) answer {
	s := d.owned[g.step.Session]
	closed := s != nil && s.takesNothing()
	return d.allOrNone(&g.step, func(r *receive.System) ([]receive.Effect, error) { return r.Seal(d.fatalRules, closed, nil) },
		func(r *send.System) ([]send.Effect, error) { return r.Seal(d.fatalRules, closed, nil) })
}

func (d *prediction) finish(g *group) answer {
	return d.allOrNone(&g.step, func(r *receive.System) ([]receive.Effect, error) { return r.Finish(nil) },
		func(r *send.System) ([]send.Effect, error) { return r.Finish(nil) })
}

func (d *prediction) failSend(g *group) answer {
	list, a := d.together(&g.step)
	if a.kind != "" || len(list) != 1 {
		return a
	}
	var exposed uint64
	for _, name := range g.step.Published {
		i := list[0].find(name)
		if i < 0 || i >= list[0].size() {
			return answer{true, "invalid_argument", "it names an accessor that is not in the cohort"}
		}
		exposed |= 1 << i
	}
	return refused(d.on(list[0], func(r *receive.System) ([]receive.Effect, error) { return r.FailSend(exposed, nil) },
		func(r *send.System) ([]send.Effect, error) { return r.FailSend(exposed, nil) }))
}

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

func (d *prediction) cancel(g *group) answer {
	r := &g.step
	s := d.owned[r.Session]
	if s == nil {
		s = d.newest(r.Session)
	}
	if s == nil {
		return answer{}
	}
	who := trigger.OriginLocal
	if r.Origin == originNames[trigger.OriginPeer] {
		who = trigger.OriginPeer
	}
	_ = d.decide(s, func() ([]sessionrules.Effect, error) { return s.rules.Cancel(who, nil) })
	d.spread(s)
	return good
}

func (d *prediction) fail(g *group) answer {
	s := d.owned[g.step.Session]
	if s == nil {
		return stale("the session is not owned")
	}
	d.failSession(s, trigger.CauseReason, trigger.OriginLocal, g.step.Cause, false)
	d.spread(s)
	return good
}

func (d *prediction) failPiece(g *group) answer {
	list, a := d.together(&g.step)
	if a.kind != "" || len(list) != 1 {
		return a
	}
	d.reason = g.step.Cause
	return refused(d.on(list[0], func(s *receive.System) ([]receive.Effect, error) { return s.Fail(nil) },
		func(s *send.System) ([]send.Effect, error) { return s.Fail(nil) }))
}

func (d *prediction) complete(g *group) answer {
	s := d.owned[g.step.Session]
	if s == nil {
		return stale("the session is not owned")
	}
	d.touchSession(s)
	return refused(d.decide(s, func() ([]sessionrules.Effect, error) { return s.rules.FinishAdding(nil) }))
}

func (d *prediction) close(g *group) answer {
	s := d.owned[g.step.Session]
	if s == nil {
		return answer{} // closed before, or never known: the registry remembers which, up to the watermark
	}
	return refused(d.closeSession(s))
}

func (d *prediction) closeSession(s *session) error {
	out, err := s.rules.Close(d.fatalRules, nil)
	for _, e := range out {
		if e.Kind != sessionrules.ReleasePiecesEffect {
			continue
		}
		for _, p := range s.pieces {
			_ = d.on(p, func(r *receive.System) ([]receive.Effect, error) { return r.Release(d.fatalRules, nil) },
				func(r *send.System) ([]send.Effect, error) { return r.Release(d.fatalRules, nil) })
		}
		_, _ = s.clock.Close(d.fatalRules, nil)
		d.want(s, Record{Effect: effectClosed})
	}
	return err
}

func (d *prediction) stop(g *group) answer {
	if d.stopped || g.step.Answer == "fatal" {
		return answer{}
	}
	sessions := d.inOrder()
	for _, s := range sessions {
		if !s.broken {
			_ = d.decide(s, func() ([]sessionrules.Effect, error) { return s.rules.Stop(nil) })
			d.spread(s)
		}
	}
	d.flush()
	if g.step.Answer != "" {
		return answer{}
	}
	d.stopped = true
	for _, s := range sessions {
		if s.broken {
			continue
		}
		if err := d.closeSession(s); err != nil {
			return refused(err)
		}
	}
	return answer{}
}

func (d *prediction) reincarnate(g *group) answer {
	if g.step.Answer != "" {
		return answer{}
	}
	for _, s := range d.inOrder() {
		if !s.broken && !s.rules.Outcome().Terminal() {
			d.failSession(s, trigger.CauseReason, trigger.OriginLocal, "reincarnated", false)
			d.spread(s)
		}
	}
	return good
}

func (d *prediction) addRegion(g *group) answer {
	if g.step.Answer != "" {
		return answer{}
	}
	if known := d.regions[g.step.Region]; known != nil {
		_, err := known.Register(nil)
		return refused(err)
	}
	rules, err := region.New()
	if err != nil {
		return refused(err)
	}
	d.regions[g.step.Region] = &rules
	return good
}

func (d *prediction) reuse(g *group) answer {
	return d.onRegion(g, func(r *region.System) error { _, err := r.Reuse(nil); return err })
}

func (d *prediction) deregister(g *group) answer {
	return d.onRegion(g, func(r *region.System) error { _, err := r.Deregister(d.fatalRules, nil); return err })
}

func (d *prediction) removeRegion(g *group) answer {
	a := d.onRegion(g, func(r *region.System) error { _, err := r.Remove(d.fatalRules, nil); return err })
	if a.known && a.kind == "" {
		delete(d.regions, g.step.Region)
	}
	return a
}

// onRegion makes a call of a region's system; a region that may go while it is
// held breaks I12.
func (d *prediction) onRegion(g *group, call func(*region.System) error) answer {
	r := d.regions[g.step.Region]
	if r == nil {
		return answer{}
	}
	a := refused(call(r))
	if a.kind == "refused" && g.step.Answer == "" {
		d.findSpec(g.line, "I12", "region "+g.step.Region+": "+g.step.Step+" while it is owned", a.kind+": "+a.reason)
		return answer{}
	}
	return a
}
