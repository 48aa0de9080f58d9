// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"time"
)

// reserve looks the pieces of one call up: all or none. A name that is not owned
// is stale, whatever else is wrong.
func (r *Registry) reserve(names []PieceName) (*Session, []*Piece, string) {
	var out []*Piece
	for _, n := range names {
		_, p := r.Piece(n)
		if p == nil {
			return nil, nil, Stale
		}
		out = append(out, p)
	}
	for i, n := range names {
		if n.Session != names[0].Session || slices.Contains(names[:i], n) {
			return nil, nil, Invalid
		}
	}
	if len(names) == 0 {
		return nil, nil, Invalid
	}
	return r.Find(names[0].Session), out, ""
}

// Seal is §4: it publishes the claims of every candidate, or nothing.
func (r *Registry) Seal(at time.Duration, names ...PieceName) string {
	return r.step(at, func() string {
		s, pieces, kind := r.reserve(names)
		switch {
		case kind != "":
			return kind
		case r.Fatal:
			return Fatal
		case s.Complete || s.Outcome != "ACTIVE":
			return Closed
		}
		for _, p := range pieces {
			_, result := Gate.Next(p.Gate, "seal")
			if result != "moved" || s.Side == "send" && p.Local != nil && p.Local.State != "DRAINED" {
				return Reject
			}
		}
		for _, p := range pieces {
			p.Gate, _ = Gate.Next(p.Gate, "seal")
			for _, c := range p.Claims {
				if !c.Fenced {
					c.State, _ = r.cell(c, "publish")
				}
			}
			s.arm(at)
		}
		return ""
	})
}

// Finish is §4: the whole fan-out returned.
func (r *Registry) Finish(at time.Duration, names ...PieceName) string {
	return r.step(at, func() string {
		s, pieces, kind := r.reserve(names)
		if kind != "" {
			return kind
		}
		for _, p := range pieces {
			if _, result := Gate.Next(p.Gate, "finish"); result != "moved" {
				return Reject
			}
		}
		for _, p := range pieces {
			p.Gate, _ = Gate.Next(p.Gate, "finish")
		}
		s.judge("", "")
		return ""
	})
}

// FailSend is §4: the fan-out ended early.
func (r *Registry) FailSend(at time.Duration, n PieceName, published []string) string {
	return r.step(at, func() string {
		s, p := r.Piece(n)
		if p == nil {
			return Stale
		}
		for i, a := range published {
			if c := p.find(a); c == nil || c == p.Local || slices.Contains(published[:i], a) {
				return Invalid
			}
		}
		gate, result := Gate.Next(p.Gate, "fail_send")
		if result != "moved" {
			return Reject
		}
		rest := slices.DeleteFunc(slices.Clone(p.Claims), func(c *ClaimState) bool {
			return c.Fenced || slices.Contains(published, c.Of.Accessor)
		})
		for _, c := range rest {
			if c.Spoke || c.State == "IN_DOUBT" || c.Operation.Submitted {
				return r.contradiction(s, p, "local")
			}
		}
		p.Gate = gate
		for _, c := range rest {
			if c.State == "PUBLISHED" { // selection may have been there before
				r.offer(s, p, c, "unexposed")
			}
		}
		s.end("FAILED", "publication", "local")
		s.judge("", "")
		return ""
	})
}
