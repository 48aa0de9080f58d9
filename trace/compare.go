// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
)

// compare sets what the spec wants against what the trace has.
func (d *prediction) compare(g *group, a answer, partial, found bool) {
	r := &g.step
	if a.known && a.kind != r.Answer {
		says, wants := cmp.Or(r.Answer, "granted"), cmp.Or(a.kind, "granted")
		rule := "step"
		if a.kind == "stale" {
			rule = "I11"
		}
		if a.reason != "" {
			wants += ": " + a.reason
		}
		d.findStep(g, rule, "the answer is "+says, wants)
		found = true
	}
	for i := range g.effects {
		e := &g.effects[i]
		s := d.sessionNamed(e.Session)
		if s == nil || s.broken || !compared(&e.Record) {
			continue
		}
		next := d.nextWant(s)
		if next == nil || next.text != e.text() {
			if !found {
				d.mismatch(g, e, next)
			}
			s.broken = true
			continue
		}
		next.met = true
	}
	for i := range d.wants {
		w := &d.wants[i]
		if w.met || w.session.broken || partial {
			continue
		}
		if !found {
			d.findSpecAt(g, w.session, "step", "an effect is missing", w.text)
		}
		w.session.broken = true
	}
	if found {
		if s := d.owned[r.Session]; s != nil {
			s.broken = true
		}
	}
}

func (d *prediction) mismatch(g *group, e *placed, next *wanted) {
	what, rule := "an effect that nothing asks for: "+e.text(), "step"
	if g.step.Answer == "stale" {
		rule = "I11"
	}
	spec := "no such effect"
	if next != nil {
		spec = next.text
	}
	c := d.checker
	p := c.pieceNamed(e.Session, e.Piece)
	f := Finding{Line: e.line, Rule: rule, What: what, Spec: spec}
	f.Leads = append(leadsOf(p), Lead{g.line, g.step.stepText()})
	c.report.add(f)
}

// nextWant returns the next effect of a session that the spec asks for.
func (d *prediction) nextWant(s *session) *wanted {
	for i := range d.wants {
		if w := &d.wants[i]; w.session == s && !w.met {
			return w
		}
	}
	return nil
}

// compared reports whether the systems say exactly when there is such an effect.
func compared(r *Record) bool {
	switch r.Effect {
	case effectQueued:
		return r.Message != "CANCEL_SESSION" && r.Message != "SESSION_QUIESCED"
	case effectTakenBack, effectAdmission:
		return false
	}
	return true
}

// sessionNamed finds a session that is owned, or was until this step.
func (d *prediction) sessionNamed(name string) *session {
	if s := d.owned[name]; s != nil {
		return s
	}
	for i := range d.wants {
		if d.wants[i].session.name == name {
			return d.wants[i].session
		}
	}
	return nil
}
