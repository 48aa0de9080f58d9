// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/retirement"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

// forget drops the sessions that the group closed.
func (c *checker) forget(g *group) {
	for i := range g.effects {
		if e := &g.effects[i]; e.Effect == effectClosed {
			if s := c.owned[e.Session]; s != nil {
				s.due = none
				delete(c.owned, e.Session)
			}
		}
	}
}

func (c *checker) newSession(name, side string, timeout, grace time.Duration) *session {
	s := &session{name: name, side: side, order: c.ordered, outcome: outcome.Active, due: none}
	c.ordered++
	c.report.Sessions++
	s.rules, _ = sessionrules.New()
	clock, err := retirement.New(timeout, grace)
	if err != nil {
		s.broken = true // without its limits nothing of it can be predicted
	}
	s.clock = clock
	c.owned[name] = s
	return s
}

// adoptUnjudged takes in what a step admits, where steps are not judged any more.
func (c *checker) adoptUnjudged(g *group) {
	r := &g.step
	if r.Answer != "" {
		return
	}
	s := c.owned[r.Session]
	if s == nil {
		s = c.newSession(r.Session, r.Side, time.Duration(r.Timeout), time.Duration(r.Grace))
		s.broken = true
	}
	c.adopt(g, s)
}

// adopt takes the pieces of a step in.
func (c *checker) adopt(g *group, s *session) []*piece {
	first := g.step.First
	var list []*piece
	for i := range g.step.Pieces {
		spec := &g.step.Pieces[i]
		p := c.newPiece(s, spec, g.line)
		p.first, p.owner = first, g.step.Owner
		first += uint64(len(p.claims))
		if s.side == "send" {
			rules, err := send.New(len(spec.Cohort), spec.Local)
			s.broken = s.broken || err != nil
			p.tx = &rules
		} else {
			rules, err := receive.New(len(spec.Cohort), p.need, spec.Local)
			s.broken = s.broken || err != nil
			p.rx = &rules
		}
		if held := c.regions[spec.Region]; held != nil {
			if _, err := held.Take(p.access, nil); err != nil {
				c.findPiece(p, g.line, "I12", "region "+spec.Region+" has a new owner while it is owned", reasonOf(err))
			}
		}
		list = append(list, p)
	}
	return list
}

func (c *checker) inOrder() []*session {
	return slices.SortedFunc(maps.Values(c.owned), func(a, b *session) int { return cmp.Compare(a.order, b.order) })
}

// newest finds the newest attempt that is owned of a request, for a cancel that names none.
func (c *checker) newest(name string) *session {
	request, ok := strings.CutSuffix(name, "@0")
	if !ok {
		return nil
	}
	var found *session
	for _, s := range c.inOrder() {
		if i := strings.LastIndexByte(s.name, '@'); i > 0 && s.name[:i] == request {
			found = s
		}
	}
	return found
}
