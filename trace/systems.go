// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"errors"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// wanted is an effect that the spec asks for.
type wanted struct {
	session *session
	text    string
	met     bool
}

// prediction makes the steps of a trace again on the generated systems.
type prediction struct {
	*checker
	wants    []wanted
	sessions []*session // touched
	pieces   []*piece   // touched
}

func (d *prediction) want(s *session, r Record) {
	d.wants = append(d.wants, wanted{session: s, text: r.text()})
}

func (d *prediction) touch(p *piece) {
	if !p.touched {
		p.touched = true
		d.pieces = append(d.pieces, p)
	}
	d.touchSession(p.session)
}

func (d *prediction) touchSession(s *session) {
	if !s.touched {
		s.touched = true
		d.sessions = append(d.sessions, s)
	}
}

// on makes a call of a piece's system, whichever it is, and follows its effects.
func (d *prediction) on(p *piece, rx func(*receive.System) ([]receive.Effect, error), tx func(*send.System) ([]send.Effect, error)) error {
	var err error
	if p.rx != nil {
		var out []receive.Effect
		out, err = rx(p.rx)
		for i := range out {
			d.follow(p, &out[i])
		}
	} else {
		var out []send.Effect
		out, err = tx(p.tx)
		for i := range out {
			d.followSend(p, &out[i])
		}
	}
	d.spread(p.session)
	return err
}

// asReceived are the effects that both systems have.
var asReceived = [...]receive.Kind{
	send.ClaimMovedEffect: receive.ClaimMovedEffect, send.LocalMovedEffect: receive.LocalMovedEffect, send.GateMovedEffect: receive.GateMovedEffect,
	send.EndedEffect: receive.EndedEffect, send.SessionFailedEffect: receive.SessionFailedEffect, send.InvalidatedEffect: receive.InvalidatedEffect,
	send.RepeatedEffect: receive.RepeatedEffect, send.IgnoredOneEffect: receive.IgnoredOneEffect, send.LaterCauseEffect: receive.LaterCauseEffect,
	send.GiveBackEffect: receive.GiveBackEffect,
}

func (d *prediction) followSend(p *piece, e *send.Effect) {
	if e.Kind == send.TellEffect {
		d.want(p.session, Record{Effect: effectQueued, Piece: p.name, Accessor: p.claims[e.A].accessor, Message: e.Says.String()})
		return
	}
	d.follow(p, &receive.Effect{
		Kind: asReceived[e.Kind], A: e.A, Event: e.Event, Was: e.Was, Action: e.Action, Before: e.Before, How: e.How, Why: e.Why, Who: e.Who,
	})
}

func (d *prediction) follow(p *piece, e *receive.Effect) {
	s := p.session
	switch e.Kind {
	case receive.ClaimMovedEffect:
		d.moved(p, e.A, e.Event, e.Was)
	case receive.LocalMovedEffect:
		d.moved(p, p.size(), e.Event, e.Was)
	case receive.GateMovedEffect:
		to, _ := gate.Next(e.Before, e.Action)
		if to == gate.Publishing {
			_, _ = s.rules.Publish(nil) // seal has asked whether the session allows it
		}
		d.touch(p)
		d.want(s, Record{Effect: effectGate, Piece: p.name, From: e.Before.String(), To: to.String()})
	case receive.EndedEffect:
		d.touch(p)
		r := Record{Effect: effectEnded, Piece: p.name, Outcome: e.How.String()}
		if e.How != outcome.Succeeded {
			r.Cause, r.Origin = s.why()
		}
		d.want(s, r)
		if e.How == outcome.Succeeded {
			d.decide(s, func() ([]sessionrules.Effect, error) { return s.rules.SucceedPiece(nil) })
		}
	case receive.SessionFailedEffect:
		upset := p.settled && !p.isSettled()
		if upset {
			p.settled = false
		}
		d.failSession(s, e.Why, e.Who, d.reason, upset)
	case receive.InvalidatedEffect:
		d.touch(p)
		d.want(s, Record{Effect: effectInvalid, Piece: p.name})
	case receive.GiveBackEffect:
		d.want(s, Record{Effect: effectReleased, Piece: p.name})
	}
}

func (d *prediction) moved(p *piece, i int, e claim.Event, was claim.State) {
	to, _ := claim.Next(was, e)
	d.touch(p)
	d.want(p.session, Record{Effect: effectClaim, Piece: p.name, Accessor: p.claims[i].accessor, Event: e.String(), From: was.String(), To: to.String()})
	if e == claim.Publish {
		_, _ = p.session.clock.Arm(d.now, nil) // only the first time counts
	}
}

// failSession fails a session; a caller's own word is kept with the first answer.
func (d *prediction) failSession(s *session, why trigger.Cause, who trigger.Origin, reason string, upset bool) {
	if s.rules.Outcome() == outcome.Active && why == trigger.CauseReason {
		s.reason = reason
	}
	d.decide(s, func() ([]sessionrules.Effect, error) { return s.rules.Fail(why, who, upset, nil) })
}

// decide makes a call of a session's system and follows its effects.
func (d *prediction) decide(s *session, call func() ([]sessionrules.Effect, error)) error {
	out, err := call()
	for i := range out {
		switch out[i].Kind {
		case sessionrules.TriggerDrainEffect:
			s.trigger = true
			d.touchSession(s)
		case sessionrules.EndPiecesEffect:
			s.ending = out[i].By
		case sessionrules.EndedEffect:
			d.touchSession(s)
			if s.ending == 0 {
				d.wantEnd(s)
			}
		}
	}
	return err
}

// spread brings a session's end to its pieces, if it has just ended.
func (d *prediction) spread(s *session) {
	how := s.ending
	if how == 0 {
		return
	}
	s.ending = 0
	for _, p := range s.pieces {
		_ = d.on(p, func(r *receive.System) ([]receive.Effect, error) { return r.End(how, nil) },
			func(r *send.System) ([]send.Effect, error) { return r.End(how, nil) })
	}
	d.wantEnd(s)
}

func (d *prediction) wantEnd(s *session) {
	r := Record{Effect: effectSession, Outcome: s.rules.Outcome().String()}
	r.Cause, r.Origin = s.why()
	d.want(s, r)
}

// why returns cause and origin as a trace has them.
func (s *session) why() (cause, origin string) {
	if s.rules.Cause() == trigger.CauseNone {
		return "", ""
	}
	cause, origin = causeNames[s.rules.Cause()], originNames[s.rules.Origin()]
	if s.rules.Cause() == trigger.CauseReason {
		cause = s.reason
	}
	return cause, origin
}

var causeNames = map[trigger.Cause]string{
	trigger.CauseCancel: "cancel", trigger.CauseFailed: "failed", trigger.CauseDoubt: "doubt", trigger.CauseConflict: "conflict",
	trigger.CausePublication: "publication", trigger.CauseNotSubmitted: "not_submitted", trigger.CauseFenced: "fenced",
	trigger.CauseTimeout: "timeout", trigger.CauseShutdown: "shutdown",
}

var originNames = map[trigger.Origin]string{trigger.OriginLocal: "local", trigger.OriginPeer: "peer", trigger.OriginTimeout: "timeout"}

// flush settles the consequences of a step, as the spec of the clock wants it.
func (d *prediction) flush() {
	for _, p := range d.pieces {
		p.touched = false
		if !p.settled && p.isSettled() {
			p.settled = true
			_, _ = p.session.rules.SettlePiece(nil)
		}
	}
	for _, s := range d.sessions {
		s.touched = false
		was := s.clock.Settled()
		d.tellClock(s)
		switch is := s.clock.Settled(); {
		case is && !was:
			d.want(s, Record{Effect: effectSettled})
		case was && !is:
			d.want(s, Record{Effect: effectUnsettled})
		}
	}
	d.pieces, d.sessions = d.pieces[:0], d.sessions[:0]
}

func (d *prediction) tellClock(s *session) {
	ended, settled := s.rules.Outcome().Terminal(), s.rules.Settled()
	switch {
	case s.expired:
		_, _ = s.clock.Expire(d.now, settled, nil)
	case s.trigger || ended != s.clock.Ended() || settled != s.clock.Settled():
		_, _ = s.clock.Update(d.now, ended, settled, s.trigger, nil)
	}
	s.trigger, s.expired = false, false
	d.schedule(s)
}

// kindOf returns the contract's word for a refusal of a system, "" for none.
func kindOf(err error) string {
	var call *fsm.CallError
	if errors.As(err, &call) {
		return call.Kind.String()
	}
	return ""
}

// reasonOf returns the sentence of the spec.
func reasonOf(err error) string {
	var call *fsm.CallError
	if errors.As(err, &call) {
		return call.Reason
	}
	return ""
}
