// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// result queues the RESULT that a sender's claim gives as it moved (contract §8).
func (c *core) result(o *owner, i int, says Evidence) {
	p := o.member(i).peer
	name := ClaimName{p.incarnation, o.pieceName(), c.cfg.Name, c.cfg.Incarnation, (*o.remote)[i]}
	c.queue(p.member(), Send, &Result{name, says})
}

// tell queues the CANCEL_SESSION that a session's end asks for, after each step.
func (c *core) tell(s *session) {
	switch {
	case s.side == Receive && s.failed():
		c.tellSenders(s)
	case s.cancels:
		s.cancels = false
		c.tellReceivers(s)
	}
}

// tellQuiet queues the SESSION_QUIESCED of a sender's session that is settled.
func (c *core) tellQuiet(s *session) {
	if s.side == Send && s.clock.Settled() {
		c.tellSettled(s)
	}
}

// tellSenders: once for a session and accessor, while its claim is live and not
// fenced, and no gate with it is PUBLISHING. A fenced claim is never live.
func (c *core) tellSenders(s *session) {
	for k := range s.members {
		m := &s.members[k]
		if m.live == 0 || m.has(told) || m.peer.local() || s.busyWith(m.peer.accessor) {
			continue
		}
		m.flags |= told
		c.queue(m.peer.member(), Receive, &CancelSession{s.name, Receive})
	}
}

// busyWith reports whether a gate with the accessor is PUBLISHING, or whether it
// was told under the name of another life.
func (s *session) busyWith(a Accessor) bool {
	for k := range s.members {
		if m := &s.members[k]; m.peer.accessor == a && (m.publishing > 0 || m.has(told)) {
			return true
		}
	}
	return false
}

// concerned reports whether a sender tells the member of its session's end.
func (m *member) concerned() bool {
	return !m.peer.local() && (m.unfenced > 0 || m.has(requested))
}

// tellReceivers: at the end of a session, to all concerned but the peer that
// ended it.
func (c *core) tellReceivers(s *session) {
	for k := range s.members {
		if m := &s.members[k]; m.concerned() && !m.has(told|endedSession) {
			c.sendCancel(s, m)
		}
	}
}

func (c *core) sendCancel(s *session, m *member) {
	m.flags |= told
	c.queue(m.peer.member(), Send, &CancelSession{s.name, Send})
}

// tellSettled: once a sender's session holds nothing and never will. A success
// is no news but to a peer that cancelled.
func (c *core) tellSettled(s *session) {
	for k := range s.members {
		m := &s.members[k]
		owes := m.has(owesCancel)
		if s.failed() {
			owes = owes || m.has(owesRequest) || m.concerned() && !m.has(quiesced)
		}
		if owes {
			if m.has(owesRequest) && !m.has(told|cancelled) && s.failed() {
				c.sendCancel(s, m)
			}
			c.sendQuiesced(s.name, m.peer.member())
			m.flags |= quiesced
		}
		m.flags &^= owesCancel | owesRequest
	}
}

// sendQuiesced queues a SESSION_QUIESCED unless one waits already.
func (c *core) sendQuiesced(name SessionName, to Member) {
	if _, waits := c.outbox.quiesced[quiescedKey{name, to.Accessor, to.Incarnation}]; !waits {
		c.queue(to, Send, &SessionQuiesced{name})
	}
}

// takeBack takes the SESSION_QUIESCED back that have not left, when the session
// stops being settled; they are queued again when it is.
func (c *core) takeBack(s *session) {
	if s.side != Send {
		return
	}
	for k := range s.members {
		m := &s.members[k]
		n := c.outbox.quiesced[quiescedKey{s.name, m.peer.accessor, m.peer.incarnation}]
		if n == nil {
			continue
		}
		c.unqueue(n)
		m.flags = m.flags&^quiesced | owesCancel
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

// answerCancel answers a receiver's CANCEL_SESSION for such an attempt.
func (c *core) answerCancel(name SessionName, spec *CancelSpec, side Side) {
	if spec.From != (Member{}) && spec.fromReceiver(side) {
		c.sendQuiesced(name, spec.From)
	}
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
	r := c.requests[name.Request]
	var a *attempt
	if r != nil {
		a = r.find(name.Attempt)
	}
	switch {
	case a != nil && a.side != Send:
		return fail(KindInvalid, what, "is of the receive side")
	case a != nil && a.session != nil:
		c.requestedOwned(a.session, from)
	case a != nil && a.outcome == outcome.Succeeded:
	case a != nil, c.passed(name.Request), r != nil && (r.covers(name.Attempt) || name.Attempt < r.newest()):
		c.answerRequest(name, from)
	case !c.kept.add(keptRequest{name, from}, c.cfg.Requests):
		c.counters.RequestsDropped++
		return fail(KindCapacity, what, "the table of kept requests is full")
	}
	return nil
}

func (c *core) requestedOwned(s *session, from Member) {
	m := &s.members[c.join(s, from.Accessor, from.Incarnation)]
	if s.outcome() == outcome.Active {
		m.flags |= requested
		return
	}
	m.flags |= owesRequest
	c.touchSession(s)
}
