// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	answerrules "github.com/kvxfer/kvxfer/gen/answer"
	memberrules "github.com/kvxfer/kvxfer/gen/member"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/report"
)

// result queues the RESULT that a sender's claim gives as it moved (contract §8).
func (c *core) result(o *owner, i int, says Evidence) {
	p := o.peer(i)
	name := ClaimName{p.incarnation, o.name(), c.cfg.Name, p.self, o.send.remote[i]}
	c.queue(p.member(), Send, &Result{name, says})
}

// tell asks for each member what it is to be told after the step: its CANCEL_SESSION
// is queued at once, its SESSION_QUIESCED by tellQuiet.
func (c *core) tell(s *session) {
	if s.outcome() == outcome.Active {
		return // nobody is told anything
	}
	if s.outcome() != outcome.Succeeded {
		c.list(s)
	}
	stands, settled := s.stands(), s.clock.Settled()
	members := s.members()
	for k := range members {
		m := &members[k]
		out, _ := m.rules.Tell(stands, settled, m.live > 0, m.live > 0 && s.busyWith(m), m.unfenced > 0, c.telling[:0])
		for _, e := range out {
			switch e.Kind {
			case memberrules.CancelSessionEffect:
				c.queue(m.peer.member(), s.side, &CancelSession{s.name(), s.side})
			case memberrules.SessionQuiescedEffect:
				m.quiet = true
				s.marks |= markQuiet
			case memberrules.TakeBackEffect:
				c.takeBack(s, m)
			}
		}
	}
}

// stands says how the session stands, in the words of what is told of it.
func (s *session) stands() memberrules.Standing {
	switch s.outcome() {
	case outcome.Active:
		return memberrules.StandingActive
	case outcome.Succeeded:
		return memberrules.StandingSucceeded
	}
	return memberrules.StandingFailed
}

// tellQuiet queues the SESSION_QUIESCED that tell found.
func (c *core) tellQuiet(s *session) {
	s.marks &^= markQuiet
	members := s.members()
	for k := range members {
		if m := &members[k]; m.quiet {
			m.quiet = false
			c.sendQuiesced(s.name(), m.peer.member())
		}
	}
}

// busyWith reports whether a gate with the member's accessor is PUBLISHING, or whether
// it was told under the name of another life.
func (s *session) busyWith(m *member) bool {
	members := s.members()
	for k := range members {
		other := &members[k]
		if other.peer.accessor == m.peer.accessor && (other.publishing > 0 || other != m && other.rules.Told()) {
			return true
		}
	}
	return false
}

// sendQuiesced queues a SESSION_QUIESCED unless one waits already.
func (c *core) sendQuiesced(name SessionName, to Member) {
	if _, waits := c.outbox.quiesced[quiescedKey{name, to.Accessor, to.Incarnation}]; !waits {
		c.queue(to, Send, &SessionQuiesced{name})
	}
}

// takeBack takes a SESSION_QUIESCED back that has not left.
func (c *core) takeBack(s *session, m *member) {
	if n := c.outbox.quiesced[quiescedKey{s.name(), m.peer.accessor, m.peer.incarnation}]; n != nil {
		c.unqueue(n)
	}
}

// left notes that a message was delivered.
func (c *core) left(n *node) {
	if _, ok := n.out.Message.(*SessionQuiesced); !ok {
		return
	}
	if s := c.owned(n.out.Message.Session()); s != nil {
		if m, _ := s.memberOf(n.out.To); m != nil {
			m.rules.Left(nil)
		}
	}
}

// answerRequest answers REQUEST_DATA for an attempt that holds nothing here and
// never will.
func (c *core) answerRequest(name SessionName, to Member) {
	if _, waits := c.outbox.quiesced[quiescedKey{name, to.Accessor, to.Incarnation}]; waits {
		return
	}
	c.queue(to, Send, &CancelSession{name, Send})
	c.sendQuiesced(name, to)
}

// answerCancel answers a receiver's CANCEL_SESSION for such an attempt, a its record if
// it was admitted.
func (c *core) answerCancel(name SessionName, spec *CancelSpec, a *attempt) {
	if !spec.answered(a) {
		return
	}
	if answerrules.Decide(report.MessageCancelSession, c.standing(name, a)).Quiesced {
		c.sendQuiesced(name, spec.From)
	}
}

// standing says what is known of an attempt that is not owned; a is its record, nil if
// it was not admitted.
func (c *core) standing(name SessionName, a *attempt) answerrules.Standing {
	r := c.knownRequest(name.Request)
	switch {
	case a != nil && a.outcome == outcome.Succeeded:
		return answerrules.StandingSucceeded
	case a != nil:
		return answerrules.StandingFailed
	case c.passed(name.Request), r.covers(name.Attempt), name.Attempt < r.newest():
		return answerrules.StandingNever
	}
	return answerrules.StandingUnknown
}

// answerOlder answers the kept requests for attempts that will never be
// admitted now that a later one was.
func (c *core) answerOlder(name SessionName) {
	if c.kept.n == 0 {
		return
	}
	older := func(k keptRequest) bool { return k.session.Attempt < name.Attempt }
	for _, k := range c.kept.take(name.Request, older) {
		c.answerRequest(k.session, k.from)
	}
}

// requested is a REQUEST_DATA that has arrived.
func (c *core) requested(name SessionName, from Member) error {
	what := name.what()
	if err := name.validate(); err != nil {
		return err
	}
	if from.Accessor == "" || from.Accessor == Local {
		return fail(KindInvalid, what, "the request comes from no accessor")
	}
	from.Sequence = 0
	r := c.knownRequest(name.Request)
	a := r.find(name.Attempt)
	switch {
	case a != nil && a.side != Send:
		return fail(KindInvalid, what, "is of the receive side")
	case a != nil && a.session != nil:
		c.requestedOwned(a.session, from)
	default:
		return c.requestedUnowned(name, from, a)
	}
	return nil
}

// requestedUnowned answers a REQUEST_DATA for a session that is not owned, or keeps it.
func (c *core) requestedUnowned(name SessionName, from Member, a *attempt) error {
	switch d := answerrules.Decide(report.MessageRequestData, c.standing(name, a)); {
	case d.Cancel && d.Quiesced && c.outbox.noAnswer(name, from):
		c.counters.RequestsDropped++
		return fail(KindCapacity, name.what(), "the share of "+string(from.Accessor)+" in the outbox is full")
	case d.Cancel && d.Quiesced:
		c.answerRequest(name, from)
	case d.Kept && !c.kept.add(keptRequest{name, from}, c.cfg.Requests, c.cfg.PeerRequests):
		c.counters.RequestsDropped++
		return fail(KindCapacity, name.what(), "the table of kept requests, or the share of "+string(from.Accessor)+" in it, is full")
	}
	return nil
}

func (c *core) requestedOwned(s *session, from Member) {
	c.visit(s, from).rules.Request(nil)
	c.touchSession(s)
}
