// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import "time"

// step is one call: deadlines up to its time first, for what happens at exactly
// a deadline is too late, then the call, then what follows from it (§6).
func (r *Registry) step(at time.Duration, call func() string) string {
	r.pass(at)
	r.steps++
	r.begin()
	kind := call()
	r.follow(r.Now)
	if kind == Stale {
		r.StaleCalls++
	}
	return kind
}

// Tick is a pass of the watchdog.
func (r *Registry) Tick(at time.Duration) string {
	return r.step(at, func() string { return "" })
}

// pass lets every deadline up to a time happen, each at its own time.
func (r *Registry) pass(at time.Duration) {
	r.Now = max(r.Now, at)
	for {
		s, when := r.due()
		if s == nil || when > r.Now {
			return
		}
		r.begin()
		if s.Outcome == "ACTIVE" {
			s.end("FAILED", "timeout", "timeout")
		} else {
			r.Fatal = true
		}
		r.follow(when)
	}
}

// due returns the session with the earliest deadline.
func (r *Registry) due() (first *Session, when time.Duration) {
	for _, s := range r.Sessions {
		var d time.Duration
		switch {
		case s.Outcome == "ACTIVE" && s.Armed:
			d = s.Expires()
		case s.Outcome != "ACTIVE" && !r.Fatal && s.Draining && !s.Settled():
			d = s.Deadline()
		default:
			continue
		}
		if first == nil || d < when {
			first, when = s, d
		}
	}
	return first, when
}

// NextDeadline is the earliest deadline that a pass would judge.
func (r *Registry) NextDeadline() (time.Duration, bool) {
	s, when := r.due()
	return when, s != nil
}

// begin remembers what a step finds.
func (r *Registry) begin() {
	for _, s := range r.Sessions {
		s.was = before{s.Outcome, s.Settled()}
	}
}

// follow draws what follows from a step: drain starts, then the messages.
func (r *Registry) follow(at time.Duration) {
	for _, s := range r.Sessions {
		ended := s.was.outcome == "ACTIVE" && s.lost()
		unsettled := s.was.settled && !s.Settled()
		if !s.Armed && s.Settled() {
			continue // nothing was published, and nothing is at risk
		}
		if (ended || unsettled) && (!s.Draining || s.Deadline() <= at) {
			s.Draining, s.DrainStart = true, at
		}
	}
	r.messages()
	r.steps++
	r.begin()
}
