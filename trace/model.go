// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/region"
	"github.com/kvxfer/kvxfer/gen/retirement"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// local is the accessor of a piece's own scatter or gather.
const local = "local"

// session is what a checker knows of one attempt that is not closed.
type session struct {
	name   string
	order  int
	side   string
	pieces []*piece
	// As the trace's effects say.
	outcome outcome.State
	settled bool

	// As the generated systems say; broken: they do not follow the trace any more.
	rules   sessionrules.System
	clock   retirement.System
	ending  outcome.Event
	reason  string
	trigger bool
	expired bool
	touched bool
	due     time.Duration // as last scheduled
	broken  bool
}

// piece is what a checker knows of one owner that is not released.
type piece struct {
	name    string
	session *session
	region  string
	access  region.Access
	owner   string // incarnation of the endpoint at its admission
	first   uint64 // sequence of the first claim; 0: unknown

	// As the trace's effects say.
	gate    gate.State
	outcome outcome.State
	invalid bool
	need    int
	claims  []hold // the cohort's, then the local one
	local   bool

	// As the generated systems say.
	rx      *receive.System
	tx      *send.System
	settled bool
	touched bool

	history [historySize]Lead
	seen    int
}

// historySize is how many of the lines about a piece are kept, to explain a finding.
const historySize = 8

// hold is one claim.
type hold struct {
	accessor    string
	incarnation string
	state       claim.State
	verdict     verdict.State
	line        int  // where it came into the state
	late        bool // FAILED_QUIESCED by late proof
	gone        bool // the accessor's incarnation is
}

// find returns the index of an accessor's claim, -1 if it has none.
func (p *piece) find(accessor string) int {
	for i := range p.claims {
		if p.claims[i].accessor == accessor {
			return i
		}
	}
	return -1
}

// size is the number of accessors in the cohort.
func (p *piece) size() int {
	if p.local {
		return len(p.claims) - 1
	}
	return len(p.claims)
}

// note keeps a line about the piece.
func (p *piece) note(line int, text string) {
	p.history[p.seen%historySize] = Lead{line, text}
	p.seen++
}

// leads returns the kept lines, the oldest first.
func (p *piece) leads() []Lead {
	var list []Lead
	for i := max(0, p.seen-historySize); i < p.seen; i++ {
		list = append(list, p.history[i%historySize])
	}
	return list
}

func (s *session) piece(name string) *piece {
	for _, p := range s.pieces {
		if p.name == name {
			return p
		}
	}
	return nil
}

// takesNothing reports whether the session is terminal or complete.
func (s *session) takesNothing() bool {
	return s.rules.Outcome() != outcome.Active || s.rules.Complete()
}

// isSettled reports what the piece's system says of it.
func (p *piece) isSettled() bool {
	if p.rx != nil {
		return p.rx.Settled()
	}
	return p.tx.Settled()
}

// recent remembers a bounded number of names, the newest.
type recent struct {
	set  map[string]int // name: line
	ring []string
	next int
}

const recentSize = 1 << 15

func (r *recent) put(name string, line int) {
	if r.set == nil {
		r.set = make(map[string]int)
	}
	if len(r.ring) < recentSize {
		r.ring = append(r.ring, name)
	} else {
		delete(r.set, r.ring[r.next])
		r.ring[r.next] = name
		r.next = (r.next + 1) % recentSize
	}
	r.set[name] = line
}
