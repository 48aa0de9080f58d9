// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import "time"

// Session is the pieces of one attempt on one side.
type Session struct {
	Name     Name
	Side     string // receive or send
	Outcome  string
	Cause    string
	Origin   string
	Complete bool
	Pieces   []*Piece

	T, G       time.Duration
	Armed      bool
	ArmedAt    time.Duration
	Draining   bool
	DrainStart time.Duration

	peers []*peer
	was   before
}

// before is what a step found, for what follows from the difference.
type before struct {
	outcome string
	settled bool
}

// Expires and Deadline are §6.
func (s *Session) Expires() time.Duration  { return s.ArmedAt + s.T }
func (s *Session) Deadline() time.Duration { return s.DrainStart + s.G }

// Settled is §6.
func (s *Session) Settled() bool {
	for _, p := range s.Pieces {
		if !p.settled() {
			return false
		}
	}
	return s.Outcome != "ACTIVE"
}

// lost reports whether the session is FAILED or CANCELLED.
func (s *Session) lost() bool { return s.Outcome == "FAILED" || s.Outcome == "CANCELLED" }

func (s *Session) piece(name string) *Piece {
	for _, p := range s.Pieces {
		if p.Name.Piece == name {
			return p
		}
	}
	return nil
}

// end is a terminal answer: it reaches every piece that is still ACTIVE (§5).
func (s *Session) end(outcome, cause, origin string) {
	if s.Outcome != "ACTIVE" {
		return
	}
	s.Outcome, s.Cause, s.Origin = outcome, cause, origin
	for _, p := range s.Pieces {
		if p.Outcome == "ACTIVE" {
			p.Outcome, p.Cause, p.Origin = outcome, cause, origin
		}
		p.withdraw()
	}
}

// judge draws what follows from the claims: selection, failure, success.
func (s *Session) judge(cause, origin string) {
	for _, p := range s.Pieces {
		p.selection()
		switch {
		case p.Outcome != "ACTIVE":
		case p.impossible():
			s.end("FAILED", cause, origin)
		case p.succeeds():
			p.Outcome = "SUCCEEDED"
		}
	}
	if s.Outcome != "ACTIVE" || !s.Complete {
		return
	}
	for _, p := range s.Pieces {
		if p.Outcome != "SUCCEEDED" {
			return
		}
	}
	s.Outcome = "SUCCEEDED"
}

// arm starts the request clock, once.
func (s *Session) arm(at time.Duration) {
	if !s.Armed {
		s.Armed, s.ArmedAt = true, at
	}
}

// Physical is §7.
func (r *Registry) Physical(s *Session) string {
	state := "RETIRED"
	for _, p := range s.Pieces {
		if !r.Drained(p) && state == "RETIRED" {
			state = "DRAINING"
		}
		for _, c := range p.All() {
			if c.State == "IN_DOUBT" || p.Invalid {
				state = "IN_DOUBT"
			}
		}
	}
	return state
}

// Drained is §4.
func (r *Registry) Drained(p *Piece) bool { return p.drained() && !r.Fatal }
