// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/admission"
	memberrules "github.com/kvxfer/kvxfer/gen/member"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/send"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

// core is the whole state of a registry: bare, without a lock. The decisions
// about a piece are those of the generated systems; what stands in core's files
// finds the piece, asks, and carries out what the answer says.
//
// A call is begin, one of the actions, end. An action checks everything before
// it changes anything; what it changes is noted by touch, and end settles the
// consequences: clocks, messages, counters.
type core struct {
	cfg Config

	now    time.Duration // time of the step that runs
	latest time.Duration // latest time of any call
	reason Cause         // of a piece that fails on its caller's word

	log       effectLog
	step      Step                 // that runs, where somebody traces
	traced    int                  // effects of it that were reported before it
	endpoints map[string]*endpoint // creators of requests, with their requests
	asked     *endpoint            // the one that was asked for last
	recent    *session             // likewise: calls about one session come in groups
	regions   map[string]*region
	ranges    ranges
	peers     map[Accessor][]*peer
	met       uint64 // peers, numbers them
	cohorts   cohorts
	deadlines deadlines
	outbox    outbox
	kept      keptRequests
	buried    map[Accessor]int // tombstones that peers left, where there are any
	sequence  uint64           // of the last claim
	admitted  uint64           // sessions, orders them

	telling    []memberrules.Effect
	admits     admission.System
	admitting  []admission.Effect // scratch
	contained  *Containment       // once FATAL
	containDue bool
	containErr error
	doubted    map[Accessor]struct{} // remembered by the quarantine
	admission  Admission             // as last reported

	counters        Counters
	unsettledOwners int
	touchedOwners   []*owner
	touchedSessions []*session
	scratch         []*owner         // of together
	received        []receive.Effect // scratch, of the call of a system that runs
	sent            []send.Effect
	decided         []sessionrules.Effect
}

func (c *core) init(cfg Config) {
	c.cfg = cfg
	c.endpoints = make(map[string]*endpoint)
	c.regions = make(map[string]*region)
	c.peers = make(map[Accessor][]*peer)
	c.cohorts.init()
	c.doubted = make(map[Accessor]struct{})
	c.outbox.init(cfg.PeerOutbox)
	c.kept.init()
	c.buried = make(map[Accessor]int)
	c.admits, _ = newAdmission(&cfg) // validated
	c.admitting = make([]admission.Effect, 0, 8)
	c.telling = make([]memberrules.Effect, 0, 8)
	c.decided = make([]sessionrules.Effect, 0, 8)
	c.admission = c.currentAdmission()
}

// begin judges what lies before the call.
func (c *core) begin(at time.Duration) {
	at = max(0, at) // time begins there: a clock knows none before it
	c.latest = max(c.latest, at)
	c.judge(at)
	c.now = at
	if c.cfg.Trace != nil {
		c.traceDeadlines(at)
	}
}

// end settles the consequences of the call and returns its effects.
func (c *core) end(err error) (Effects, error) {
	c.flush()
	if now := c.currentAdmission(); now != c.admission {
		e := &AdmissionChanged{Stamp: c.log.stamp(c.now), From: c.admission, To: now}
		c.admission = now
		c.log.add(e)
	}
	if err != nil && KindOf(err) == KindStale {
		c.counters.Stale++
	}
	effects := c.log.take()
	if c.cfg.Trace != nil {
		c.traceEnd(effects, err)
	}
	return effects, err
}

// takeContainment returns what to hand to Config.Contain, once.
func (c *core) takeContainment() *Containment {
	if !c.containDue {
		return nil
	}
	c.containDue = false
	c.counters.Contained++
	return c.contained
}

// owned returns the session of that name, nil unless it is owned.
func (c *core) owned(name SessionName) *session {
	if s := c.recent; s != nil && s.is(name) {
		return s
	}
	if a := c.knownRequest(name.Request).find(name.Attempt); a != nil && a.session != nil {
		c.recent = a.session
		return a.session
	}
	return nil
}

// ownedSession is owned with the error of a name that is not.
func (c *core) ownedSession(name SessionName) (*session, error) {
	if s := c.owned(name); s != nil {
		return s, nil
	}
	return nil, fail(KindStale, name.what(), "is not owned")
}

// ownedPiece finds the owner of that name.
func (c *core) ownedPiece(name PieceName) (*owner, error) {
	s, err := c.ownedSession(name.Session)
	if err != nil {
		return nil, err
	}
	if o := s.piece(name.Piece); o != nil {
		return o, nil
	}
	return nil, fail(KindStale, name.what(), "is not owned")
}

func (c *core) touch(o *owner) {
	if o.touched {
		return // and so is its session
	}
	o.touched = true
	c.touchedOwners = append(c.touchedOwners, o)
	c.touchSession(o.session)
}

func (c *core) touchSession(s *session) {
	if !s.marks.has(markTouched) {
		s.marks |= markTouched
		c.touchedSessions = append(c.touchedSessions, s)
	}
}

// flush settles the consequences for everything that was touched.
func (c *core) flush() {
	for _, o := range c.touchedOwners {
		o.touched = false
		if !o.settled && o.isSettled() {
			o.settled = true
			c.unsettledOwners--
			o.session.rules.SettlePiece(nil)
		}
	}
	for _, s := range c.touchedSessions {
		c.settle(s)
	}
	// What ended comes before what is quiet, over all sessions of the step.
	for _, s := range c.touchedSessions {
		s.marks &^= markTouched
		if s.marks.has(markQuiet) {
			c.tellQuiet(s)
		}
	}
	c.touchedOwners, c.touchedSessions = c.touchedOwners[:0], c.touchedSessions[:0]
	if cap(c.touchedSessions) > maxTouched || cap(c.touchedOwners) > maxTouched {
		c.touchedOwners, c.touchedSessions = nil, nil
	}
}

// maxTouched is how long a list may be that the next step takes over: what it names
// lives on.
const maxTouched = 64

// settle brings a session's clock and messages up to date. For one that is ACTIVE
// both are, unless a mark says otherwise.
func (c *core) settle(s *session) {
	if s.outcome() == outcome.Active && s.marks&(markArmed|markTrigger|markExpired) == 0 {
		return
	}
	was := s.clock.Settled()
	c.tellClock(s)
	switch is := s.clock.Settled(); {
	case is && !was:
		c.log.sessionSettled(c.now, s.name())
	case was && !is:
		c.log.add(&SessionUnsettled{c.log.stamp(c.now), s.name()})
	}
	c.tell(s)
}
