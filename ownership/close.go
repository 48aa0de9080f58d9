// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"

	"github.com/kvxfer/kvxfer/gen/admission"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

// close releases all owners of a session at once (contract §5).
func (c *core) close(name SessionName) error {
	if err := name.validate(); err != nil {
		return err
	}
	s := c.owned(name)
	switch {
	case s == nil && c.wasClosed(name):
		return nil
	case s == nil:
		return fail(KindStale, name.what(), "is not owned")
	}
	err := c.closeSession(s)
	if err == nil {
		for range s.pieces() {
			c.admits.ReleasePiece(c.admitting[:0])
		}
		c.admits.CloseSession(c.admitting[:0])
		return nil
	}
	err = c.refusal(err, name.what(), ": its outcome is "+s.outcome().String())
	if e := err.(*Error); e.Kind == KindRefused {
		e.Retained = s.retained(nil)
	}
	return err
}

// closeSession asks the session's system, which is nothing without its pieces' release.
func (c *core) closeSession(s *session) error {
	out, err := s.rules.Close(c.fatal(), c.decided[:0])
	for _, e := range out {
		if e.Kind == sessionrules.ReleasePiecesEffect {
			c.release(s)
		}
	}
	return err
}

// wasClosed reports whether that attempt was released, as far as it is remembered:
// below the watermark everything that is not owned is over.
func (c *core) wasClosed(name SessionName) bool {
	if r := c.knownRequest(name.Request); r != nil {
		if a := r.find(name.Attempt); a != nil {
			return a.session == nil
		}
	}
	return c.passed(name.Request)
}

// release gives back every owner of a settled session, each exactly once (I8):
// afterwards nothing of it can be found.
func (c *core) release(s *session) {
	for _, o := range s.pieces() {
		c.releaseOwner(o)
	}
	c.leave(s)
	if c.recent == s {
		c.recent = nil
	}
	r := s.creator.requests[s.number]
	*r.find(s.attempt) = s.answer()
	if s.number < s.creator.watermark && !r.holds() {
		delete(s.creator.requests, s.number)
	}
	c.log.sessionClosed(c.now, s)
}

// stop shuts the registry down, or says what it must keep (contract §7).
func (c *core) stop() error {
	if _, err := c.admits.Stop(c.admitting[:0]); err != nil {
		return c.refusal(err, "registry", "")
	}
	sessions := c.sessionsInOrder()
	for _, s := range sessions {
		c.stopSession(s)
	}
	c.flush()
	out, err := c.admits.FinishStop(c.unsettledOwners > 0, c.outbox.waiting > 0, c.admitting[:0])
	if askedFor(out, admission.ReleaseAllEffect) {
		for _, s := range sessions {
			c.closeSession(s)
		}
		return nil
	}
	e := c.refusal(err, "registry", "").(*Error)
	for _, s := range sessions {
		e.Retained = s.retained(e.Retained)
	}
	e.Retained = c.outbox.retained(e.Retained)
	return e
}

// sessionsInOrder returns the owned sessions in the order of admission.
func (c *core) sessionsInOrder() []*session {
	list := make([]*session, 0, c.admits.Sessions())
	for _, e := range c.endpoints {
		for _, r := range e.requests {
			for a := range r.attempts {
				if a.session != nil {
					list = append(list, a.session)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *session) int {
		return cmp.Compare(a.order, b.order)
	})
	return list
}

// retained appends what the session cannot prove.
func (s *session) retained(list []Retained) []Retained {
	for _, o := range s.pieces() {
		list = o.retained(list)
	}
	return list
}

var waitsFor = map[claim.State]string{
	claim.Unpublished: "was not published and not withdrawn; cancel or complete the session",
	claim.Published:   "may still touch the memory; its result, its acknowledgement or a fence frees it",
	claim.InDoubt:     "may still touch the memory; late proof of its own operation or a fence frees it",
}

// retained appends what the owner cannot prove.
func (o *owner) retained(list []Retained) []Retained {
	r := Retained{Piece: o.name(), Region: o.region.id}
	for i := range o.total() {
		if st := o.state(i); !st.Reusable() {
			r.Accessor, r.State, r.Why = o.peer(i).accessor, st, waitsFor[st]
			list = append(list, r)
		}
	}
	r.Accessor, r.State = "", 0
	if o.gate() == gate.Publishing {
		r.Why = "its fan-out has not returned"
		list = append(list, r)
	}
	if o.invalid() {
		r.Why = "contradictory evidence made it invalid; it is never released"
		list = append(list, r)
	}
	return list
}

// retained appends the messages that wait.
func (b *outbox) retained(list []Retained) []Retained {
	names := make([]Accessor, 0, len(b.queues))
	for a := range b.queues {
		names = append(names, a)
	}
	slices.Sort(names)
	for _, a := range names {
		for n := b.queues[a].first; n != nil; n = n.next {
			list = append(list, Retained{
				Piece: PieceName{Session: n.out.Message.Session()}, Accessor: a, Why: n.out.Message.Label() + " waits for " + string(a),
			})
		}
	}
	return list
}
