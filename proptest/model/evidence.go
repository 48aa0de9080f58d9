// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"time"
)

// contradiction latches a piece, which fails its session (§4, §11).
func (r *Registry) contradiction(s *Session, p *Piece, origin string) string {
	p.Invalid = true
	s.end("FAILED", "conflict", origin)
	return Conflict
}

// Cell is one of the table of claims.
type Cell struct{ State, Event string }

// cell looks one up, and notes that it was.
func (r *Registry) cell(c *ClaimState, event string) (next, result string) {
	r.Cells[Cell{c.State, event}]++
	return Claim.Next(c.State, event)
}

// offer offers one event to one claim and does what follows from a move at
// once: a RESULT to the peer. It returns the result.
func (r *Registry) offer(s *Session, p *Piece, c *ClaimState, event string) string {
	was := c.State
	next, result := r.cell(c, event)
	if event == "done_ok" || event == "done_failed" {
		if result == "moved" || result == "duplicate" {
			verdict, said := Verdict.Next(c.Verdict, event)
			if said == "conflict" {
				return "conflict"
			}
			c.Verdict = verdict
		}
	}
	c.State = next
	switch result {
	case "moved":
		if event == "settle" {
			c.Settled = true
		}
		r.tell(s, p, c, was, event)
	case "duplicate":
		r.Duplicates++
	case "ignore":
		r.Ignored++
	}
	return result
}

// take is evidence for one claim with all that follows from it.
func (r *Registry) take(s *Session, p *Piece, c *ClaimState, event, cause, origin string) string {
	switch r.offer(s, p, c, event) {
	case "conflict":
		return r.contradiction(s, p, origin)
	case "reject":
		return Reject
	case "moved":
		c.Spoke = event != "unexposed" // which says the same as exclusion
		if event == "doubt" {
			r.remember(c.Of.Accessor)
			s.end("FAILED", "doubt", origin)
		}
		s.judge(cause, origin)
	}
	return ""
}

// remember is the quarantine of §7.
func (r *Registry) remember(accessor string) {
	if r.Config.Quarantine != "off" && !slices.Contains(r.Doubted, accessor) {
		r.Doubted = append(r.Doubted, accessor)
		slices.Sort(r.Doubted)
	}
}

// resolve finds the claim of a name on a side. A nil claim is an accessor from
// outside of the cohort.
func (r *Registry) resolve(n ClaimName, side string) (*Session, *Piece, *ClaimState, string) {
	s, p := r.Piece(n.Piece)
	switch {
	case s == nil:
		return nil, nil, nil, Stale
	case side != "" && s.Side != side:
		return nil, nil, nil, Invalid
	case p == nil || n.Old:
		return nil, nil, nil, Stale
	}
	c := p.find(n.Of.Accessor)
	if c != nil && (c.Of.Life != n.Of.Life || c.Fenced) {
		return nil, nil, nil, Stale
	}
	return s, p, c, ""
}

// Report is a RESULT of a peer (§8).
func (r *Registry) Report(at time.Duration, n ClaimName, from, evidence string) string {
	return r.step(at, func() string {
		if from != n.Of.Accessor {
			return Reject // dropped before it is evidence
		}
		s, p, c, kind := r.resolve(n, "receive")
		switch {
		case kind != "":
			return kind
		case r.gone[n.Of]:
			return Stale
		case c == nil || c == p.Local:
			return r.contradiction(s, p, "peer")
		}
		return r.take(s, p, c, Evidence[evidence], "failed", "peer")
	})
}

// Operation is a status of our own operation (§2).
func (r *Registry) Operation(at time.Duration, n ClaimName, status string) string {
	return r.step(at, func() string {
		s, p, c, kind := r.resolve(n, "send")
		asks := status == "submitting"
		switch {
		case kind != "":
			return kind
		case asks && r.Fatal:
			return Fatal
		case (c == nil || c == p.Local) && asks:
			return Reject
		case c == nil || c == p.Local:
			return r.contradiction(s, p, "local")
		}
		switch does := c.Operation.Backend(status, c.State, s.Outcome == "ACTIVE"); does {
		case "permission", "noted":
			return ""
		case "duplicate":
			r.Duplicates++
			return ""
		case "ignore":
			r.Ignored++
			return ""
		case "conflict":
			return r.contradiction(s, p, "local")
		case "reject", "closed", "stale":
			return does
		default:
			return r.take(s, p, c, does, "not_submitted", "local")
		}
	})
}

// Local is what happened to the scatter or gather: start, done or doubt (§4).
func (r *Registry) Local(at time.Duration, n PieceName, event string) string {
	return r.step(at, func() string {
		s, p := r.Piece(n)
		switch {
		case p == nil:
			return Stale
		case p.Local == nil:
			return Invalid
		case p.Local.Fenced:
			return Stale
		case event == "start":
			return r.startLocal(at, s, p)
		case event == "doubt":
			return r.take(s, p, p.Local, "doubt", "failed", "local")
		case p.Local.State == "IN_DOUBT":
			return r.take(s, p, p.Local, "settle", "failed", "local")
		}
		return r.take(s, p, p.Local, "done_ok", "failed", "local")
	})
}

func (r *Registry) startLocal(at time.Duration, s *Session, p *Piece) string {
	if r.Fatal {
		return Fatal
	}
	ready := p.Gate == "OPEN"
	if s.Side == "receive" {
		ready = p.heard() && p.Outcome == "ACTIVE"
	}
	switch _, result := r.cell(p.Local, "publish"); {
	case result == "duplicate":
		r.Duplicates++
		return ""
	case result == "reject" || !ready:
		return Reject
	}
	p.Local.State, _ = Claim.Next(p.Local.State, "publish")
	s.arm(at)
	return ""
}

// Ack is a SESSION_QUIESCED of a peer (§8).
func (r *Registry) Ack(at time.Duration, n Name, from Member) string {
	return r.step(at, func() string {
		s := r.Find(n)
		if s == nil {
			return Stale
		}
		if s.Side != "receive" {
			return Invalid
		}
		return r.ack(s, from)
	})
}

func (r *Registry) ack(s *Session, from Member) string {
	inside, current := false, false
	for _, p := range s.Pieces {
		if c := p.find(from.Accessor); c != nil && c != p.Local {
			inside = true
			current = current || c.Of == from && !c.Fenced
		}
	}
	switch {
	case r.gone[from]:
		return Stale
	case len(s.Pieces) > 0 && !inside:
		for _, p := range s.Pieces {
			r.contradiction(s, p, "peer")
		}
		return Conflict
	case s.Outcome == "ACTIVE", len(s.Pieces) == 0:
		r.Ignored++
		return ""
	case !current:
		return Stale
	}
	for _, p := range s.Pieces {
		c := p.find(from.Accessor)
		switch {
		case c == nil || c.Of != from || c.Fenced:
		case p.Gate == "PUBLISHING":
			r.Ignored++
		default:
			r.take(s, p, c, "acked", "failed", "peer")
		}
	}
	return ""
}

// Gone is doubt to the live claims of a life that is known to have ended (§2).
func (r *Registry) Gone(at time.Duration, of Member) string {
	return r.step(at, func() string {
		if of.Accessor == Local || of.Accessor == "" {
			return Invalid
		}
		for _, m := range r.lives(of) {
			r.gone[m] = true
		}
		r.each(func(s *Session, p *Piece, c *ClaimState) {
			if Live(c.State) && !c.Fenced && is(c.Of, of) {
				r.take(s, p, c, "doubt", "doubt", "peer")
			}
		})
		return ""
	})
}

// is reports whether m is meant by of, where life 0 means every one.
func is(m, of Member) bool {
	return m.Accessor == of.Accessor && (of.Life == 0 || m.Life == of.Life)
}

func (r *Registry) lives(of Member) (out []Member) {
	for _, m := range r.known {
		if is(m, of) {
			out = append(out, m)
		}
	}
	return out
}

func (r *Registry) each(visit func(*Session, *Piece, *ClaimState)) {
	for _, s := range r.Sessions {
		for _, p := range s.Pieces {
			for _, c := range p.All() {
				visit(s, p, c)
			}
		}
	}
}

// reaches is the scope of a fence (§3).
func reaches(scope, side, accessor string) bool {
	own := side == "send" || accessor == Local
	return scope == "all" || own == (scope == "own")
}

// Fence is outside proof for the names that the scope reaches, and ends them.
func (r *Registry) Fence(at time.Duration, of Member, scope string) string {
	return r.step(at, func() string {
		if of.Accessor == "" {
			return Invalid
		}
		reached := func(s *Session, c *ClaimState) bool { return is(c.Of, of) && reaches(scope, s.Side, c.Of.Accessor) }
		r.each(func(s *Session, _ *Piece, c *ClaimState) { c.Fenced = c.Fenced || reached(s, c) })
		r.forgetPeer(of, scope)
		r.each(func(s *Session, p *Piece, c *ClaimState) {
			if reached(s, c) {
				spoke := c.Spoke
				r.take(s, p, c, "fence", "fenced", "local")
				c.Spoke = spoke
			}
		})
		doubtful := false
		r.each(func(s *Session, _ *Piece, c *ClaimState) {
			doubtful = doubtful || c.Of.Accessor == of.Accessor && c.State == "IN_DOUBT" && !reached(s, c)
		})
		if !doubtful {
			r.Doubted = slices.DeleteFunc(r.Doubted, func(a string) bool { return a == of.Accessor })
		}
		return ""
	})
}

// IsGone reports whether a life is known to have ended.
func (r *Registry) IsGone(m Member) bool { return r.gone[m] }
