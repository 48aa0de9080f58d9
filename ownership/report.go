// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"

	sessionrules "github.com/kvxfer/kvxfer/gen/session"
)

// report is a RESULT of a peer.
func (c *core) report(e *evidence) error {
	switch {
	case !e.result.IsValid():
		return fail(KindInvalid, e.claim.what(), e.result.String())
	case e.claim.Accessor == Local:
		return fail(KindInvalid, e.claim.what(), "a local claim has no reports")
	}
	if e.from.Accessor != e.claim.Accessor {
		c.counters.Foreign++
		return fail(KindReject, e.claim.what(), "the report comes from "+string(e.from.Accessor))
	}
	o, i, err := c.resolve(&e.claim, Receive)
	if err != nil {
		return err
	}
	switch {
	case i == outsider:
		err = c.hearOutsider(o)
	case o.peer(i).gone:
		return fail(KindStale, e.claim.what(), "its accessor's incarnation is gone")
	default:
		err = c.hear(o, i, e.result)
	}
	if err != nil {
		return c.refusal(err, e.claim.what(), o.said(i, e.result.String()))
	}
	return nil
}

// said tells what came, and how the claim stands, for an error.
func (o *owner) said(i int, what string) string {
	if i == outsider {
		return ": " + what
	}
	return ": " + what + ", the claim is " + o.state(i).String()
}

// ack is a SESSION_QUIESCED of a peer (contract §8).
func (c *core) ack(e *evidence) error {
	if e.from.Accessor == "" || e.from.Accessor == Local {
		return fail(KindInvalid, e.session.what(), "an acknowledgement needs an accessor")
	}
	s, err := c.ownedSession(e.session)
	if err != nil {
		return err
	}
	if s.side != Receive {
		return fail(KindInvalid, e.session.what(), "is of the send side")
	}
	if c.isGone(e.from.Accessor, e.from.Incarnation) {
		return fail(KindStale, e.session.what(), e.from.String()+" is gone")
	}
	c.list(s)
	m, named := s.memberOf(e.from)
	place := sessionrules.PlaceMember
	switch {
	case !named:
		place = sessionrules.PlaceOutsider
	case m == nil:
		place = sessionrules.PlaceOtherLife
	case m.unfenced == 0:
		place = sessionrules.PlaceEnded
	}
	out, err := s.rules.Acknowledge(place, c.decided[:0])
	for _, effect := range out {
		switch effect.Kind {
		case sessionrules.OfferAckedEffect:
			c.acknowledge(s, m.peer)
		case sessionrules.LatchPiecesEffect:
			for _, o := range s.pieces() {
				c.hearOutsider(o)
			}
		case sessionrules.IgnoredOneEffect:
			c.counters.Ignored++
		}
	}
	if err != nil {
		return c.refusal(err, e.session.what(), ": "+e.from.String())
	}
	return nil
}

// acknowledge offers acked to a peer's claims that are not fenced.
func (c *core) acknowledge(s *session, p *peer) {
	for _, o := range s.pieces() {
		if i := slices.Index(o.accessors(), p); i >= 0 && !o.fenced(i) {
			c.acknowledgeClaim(o, i)
		}
	}
}
