// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

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
