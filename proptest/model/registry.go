// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"time"
)

// Config is what a registry is built with. A bound of 0 means none.
type Config struct {
	T, G                                           time.Duration
	Quarantine                                     string // endpoint, accessor or off
	Owners, Sessions, Tombstones, Requests, Outbox int
	PeerTombstones, PeerRequests, PeerOutbox       int // of one accessor
}

// Registry is the root of everything owned (§7).
type Registry struct {
	Config   Config
	Now      time.Duration
	Sessions []*Session // owned, in the order of admission
	Regions  map[string]*Region
	Doubted  []string // accessors that the quarantine remembers
	Fatal    bool
	Closed   bool // shutdown

	Admitted, Released              int // pieces
	StaleCalls, Duplicates, Ignored int
	Waiting                         []Queued
	Cells                           map[Cell]int // of the table of claims, how often each was looked up

	over       map[Name]*Session // closed ones, until the watermark
	newest     map[Request]int   // attempt
	tombstones map[Request]*tomb
	watermark  map[string]int
	gone       map[Member]bool
	known      []Member
	steps      int
	kept       []visit // requests for data of attempts that nobody knows yet
}

// tomb is a cancel that came before its session.
type tomb struct {
	attempt int // it covers this one and all later ones
	origin  string
	by      string // the accessor that left it, empty for our own
}

// New returns an empty registry.
func New(c Config) *Registry {
	return &Registry{
		Config: c, Regions: make(map[string]*Region), over: make(map[Name]*Session), newest: make(map[Request]int),
		tombstones: make(map[Request]*tomb), watermark: make(map[string]int), gone: make(map[Member]bool), Cells: make(map[Cell]int),
	}
}

// Tombstones and Kept say how full these tables are.
func (r *Registry) Tombstones() int { return len(r.tombstones) }

// Kept says how many requests for data wait for their attempt.
func (r *Registry) Kept() int { return len(r.kept) }

// Over are the sessions that were closed and are remembered.
func (r *Registry) Over() []*Session { return slices.Collect(maps.Values(r.over)) }

// Find returns an owned session, or nil.
func (r *Registry) Find(n Name) *Session {
	for _, s := range r.Sessions {
		if s.Name == n {
			return s
		}
	}
	return nil
}

// Piece returns an owner and its session, or nil.
func (r *Registry) Piece(n PieceName) (*Session, *Piece) {
	s := r.Find(n.Session)
	if s == nil {
		return nil, nil
	}
	return s, s.piece(n.Piece)
}

// Owners counts the unreleased pieces.
func (r *Registry) Owners() (n int) {
	for _, s := range r.Sessions {
		n += len(s.Pieces)
	}
	return n
}

// Admission is §7.
func (r *Registry) Admission() string {
	switch {
	case r.Fatal:
		return "FATAL"
	case r.Closed:
		return "CLOSED"
	case len(r.Doubted) > 0:
		return "QUARANTINED"
	}
	return "OPEN"
}

// covered reports whether a tombstone covers an attempt.
func (r *Registry) covered(n Name) bool {
	t := r.tombstones[n.Request]
	return t != nil && n.Attempt >= t.attempt
}

func (r *Registry) below(n Name) bool { return n.Request.Number < r.watermark[n.Request.Endpoint] }

// shut reports whether a quarantine refuses everything.
func (r *Registry) shut() bool {
	return len(r.Doubted) > 0 && (r.Config.Quarantine != "accessor" || slices.Contains(r.Doubted, Local))
}

// Admit is §3 and §7.
func (r *Registry) Admit(at time.Duration, n Name, side string) string {
	return r.step(at, func() string {
		if n.Attempt < 1 {
			return Invalid
		}
		used := r.Find(n) != nil || n.Attempt <= r.newest[n.Request] && !r.covered(n)
		switch {
		case r.Fatal:
			return Fatal
		case r.Closed || r.shut() || r.below(n):
			return Closed
		case used:
			return Reject
		case r.attemptActive(n.Request):
			return Refused
		case full(len(r.Sessions), r.Config.Sessions) || r.crowded():
			return Capacity
		}
		s := &Session{Name: n, Side: side, Outcome: "ACTIVE", T: r.Config.T, G: r.Config.G}
		if r.covered(n) {
			s.Outcome, s.Cause, s.Origin = "CANCELLED", "cancel", r.tombstones[n.Request].origin
		}
		s.was = before{s.Outcome, s.Settled()}
		r.Sessions = append(r.Sessions, s)
		r.newest[n.Request] = max(r.newest[n.Request], n.Attempt)
		delete(r.over, n)
		r.admitVisits(s)
		return ""
	})
}

func full(n, bound int) bool { return bound > 0 && n >= bound }

// attemptActive: a later attempt waits for the outcome of the earlier one.
func (r *Registry) attemptActive(q Request) bool {
	for _, s := range r.Sessions {
		if s.Name.Request == q && s.Outcome == "ACTIVE" {
			return true
		}
	}
	return false
}

// PieceSpec describes a piece.
type PieceSpec struct {
	Name   PieceName
	Region string
	Cohort []Member
	Count  int
	Local  bool
	Access string // writes or reads; "" is what a WRITE does: it writes the receive side's
}

// AddPiece is §5 and §7.
func (r *Registry) AddPiece(at time.Duration, spec PieceSpec) string {
	return r.step(at, func() string {
		s := r.Find(spec.Name.Session)
		if s == nil {
			return Stale
		}
		reads := spec.Access == "reads" || spec.Access == "" && s.Side == "send"
		switch region := r.Regions[spec.Region]; {
		case malformed(spec) || spec.Count > 0 && s.Side == "send" || region == nil:
			return Invalid
		case r.Fatal:
			return Fatal
		case r.Closed || r.shut() || r.doubts(spec.Cohort) || s.Complete || s.Outcome != "ACTIVE":
			return Closed
		case s.piece(spec.Name.Piece) != nil:
			return Reject
		case !region.Registered || r.taken(spec.Region, reads):
			return Refused
		case full(r.Owners(), r.Config.Owners) || r.crowded() || slices.ContainsFunc(spec.Cohort, r.unread):
			return Capacity
		}
		p := &Piece{Name: spec.Name, Region: spec.Region, Reads: reads, Count: spec.Count, Gate: "OPEN", Outcome: "ACTIVE"}
		for _, m := range spec.Cohort {
			p.Claims = append(p.Claims, &ClaimState{Of: m, State: "UNPUBLISHED", Verdict: "NONE"})
			r.knows(m)
			s.peer(m).member = true
		}
		if spec.Local {
			p.Local = &ClaimState{Of: Member{Accessor: Local}, State: "UNPUBLISHED", Verdict: "NONE"}
		}
		s.Pieces = append(s.Pieces, p)
		r.Admitted++
		return ""
	})
}

func malformed(spec PieceSpec) bool {
	seen := make(map[string]bool)
	for _, m := range spec.Cohort {
		if seen[m.Accessor] || m.Accessor == Local || m.Accessor == "" {
			return true
		}
		seen[m.Accessor] = true
	}
	return len(spec.Cohort) < 1 || len(spec.Cohort) > 64 || spec.Count < 0 || spec.Count > len(spec.Cohort)
}

// doubts reports whether the quarantine remembers one of a cohort.
func (r *Registry) doubts(cohort []Member) bool {
	return slices.ContainsFunc(cohort, func(m Member) bool { return slices.Contains(r.Doubted, m.Accessor) })
}

func (r *Registry) knows(m Member) {
	if !slices.Contains(r.known, m) {
		r.known = append(r.known, m)
	}
}

// Complete is §5.
func (r *Registry) Complete(at time.Duration, n Name) string {
	return r.step(at, func() string {
		s := r.Find(n)
		switch {
		case s == nil:
			return Stale
		case s.Complete || s.Outcome != "ACTIVE":
			return ""
		case len(s.Pieces) == 0 || slices.ContainsFunc(s.Pieces, func(p *Piece) bool { return p.Gate == "OPEN" }):
			return Reject
		}
		s.Complete = true
		s.judge("", "")
		return ""
	})
}

// Fail is the caller's failure of a session.
func (r *Registry) Fail(at time.Duration, n Name, reason string) string {
	return r.step(at, func() string {
		s := r.Find(n)
		switch {
		case s == nil:
			return Stale
		case reason == "":
			return Invalid
		}
		s.end("FAILED", reason, "local")
		return ""
	})
}

// FailPiece is the caller's failure of a piece; a piece that has its answer
// keeps it, and so does its session.
func (r *Registry) FailPiece(at time.Duration, n PieceName, reason string) string {
	return r.step(at, func() string {
		s, p := r.Piece(n)
		switch {
		case p == nil:
			return Stale
		case reason == "":
			return Invalid
		case p.Outcome == "ACTIVE":
			s.end("FAILED", reason, "local")
		}
		return ""
	})
}

// Close is §5.
func (r *Registry) Close(at time.Duration, n Name) string {
	return r.step(at, func() string {
		s := r.Find(n)
		switch {
		case s == nil && (r.over[n] != nil || r.below(n)):
			return ""
		case s == nil:
			return Stale
		case r.Fatal:
			return Fatal
		case s.Outcome == "ACTIVE" || slices.ContainsFunc(s.Pieces, func(p *Piece) bool { return !p.drained() }):
			return Refused
		}
		r.release(s)
		return ""
	})
}

func (r *Registry) release(s *Session) {
	r.Sessions = slices.DeleteFunc(r.Sessions, func(o *Session) bool { return o == s })
	r.Released += len(s.Pieces)
	r.over[s.Name] = s
	r.forget()
}

// forget lets go of the requests below the watermark that are over.
func (r *Registry) forget() {
	for q := range r.newest {
		owned := slices.ContainsFunc(r.Sessions, func(s *Session) bool { return s.Name.Request == q })
		if owned || !r.below(Name{Request: q}) {
			continue
		}
		delete(r.newest, q)
		for n := range r.over {
			if n.Request == q {
				delete(r.over, n)
			}
		}
	}
}

// Stop is §7.
func (r *Registry) Stop(at time.Duration) string {
	return r.step(at, func() string {
		if r.Fatal {
			return Fatal
		}
		r.Closed = true
		for _, s := range r.Sessions {
			s.end("CANCELLED", "shutdown", "local")
		}
		r.follow(at) // what it queues itself is in its way
		for _, s := range r.Sessions {
			if slices.ContainsFunc(s.Pieces, func(p *Piece) bool { return !p.drained() }) {
				return Refused
			}
		}
		if len(r.Waiting) > 0 {
			return Refused
		}
		for _, s := range slices.Clone(r.Sessions) {
			r.release(s)
		}
		return ""
	})
}

// Reopen is §7.
func (r *Registry) Reopen(at time.Duration) string {
	return r.step(at, func() string {
		switch {
		case r.Fatal:
			return Fatal
		case r.Closed:
			return Closed
		}
		r.Doubted = nil
		return ""
	})
}

// Watermark is §7.
func (r *Registry) Watermark(at time.Duration, endpoint string, below int) string {
	return r.step(at, func() string {
		if r.Fatal {
			return Fatal
		}
		r.watermark[endpoint] = max(r.watermark[endpoint], below)
		for q := range r.tombstones {
			if r.below(Name{Request: q}) {
				delete(r.tombstones, q)
			}
		}
		r.forget()
		r.answerKept()
		return ""
	})
}
