// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// A backend's notification says, in the target's own process, that one operation has
// ended. It carries the claim's whole name. The control stream alone carries results
// (contract section 8): a notification is kept until the result is there, and is
// proof where that is a doubt, here and, as CONFIRMED, at the peer.

// notified takes a notification in.
func (e *Endpoint) notified(at time.Duration, n backend.Notification) {
	name, err := wire.ParseNotification(n.Message)
	if err != nil {
		e.counts.foreignNotifications.Add(1)
		return
	}
	c := coreClaim(name)
	s, p := e.session(c.Piece.Session), e.lookup(c.Accessor)
	if p == nil || c.Owner != e.Incarnation() || !p.is(c.Incarnation, n.Peer) {
		e.counts.foreignNotifications.Add(1)
		return
	}
	if s == nil || s.side != ownership.Receive {
		return // closed: the result was faster
	}
	s.mu.Lock()
	if s.ended == nil {
		s.ended = map[ownership.ClaimName]struct{}{}
	}
	s.ended[c] = struct{}{} // before the look: a doubt that comes next finds it
	s.mu.Unlock()
	switch e.claimState(c) {
	case claim.Published:
	case claim.InDoubt:
		e.settleNotified(at, s, c)
	default:
		s.takeEnded(c)
	}
}

// settleNotified uses a notification as the late proof that it is.
func (e *Endpoint) settleNotified(at time.Duration, s *Session, c ownership.ClaimName) {
	if !s.takeEnded(c) {
		return
	}
	e.noteAt(at, s, "operation for "+c.String()+": its end was notified")
	effects, err := e.registry.Report(at, ownership.PeerReport{Claim: c, From: c.Accessor, Evidence: ownership.FailedQuiesced})
	e.apply(effects)
	if err != nil {
		if !errors.Is(err, ownership.ErrStale) {
			e.config.Log.Warn("notification", "claim", c, "error", err)
		}
		return
	}
	if p := e.lookup(c.Accessor); p != nil {
		p.reply(c.Incarnation, wire.Confirmed{Claim: wireClaim(c)})
	}
}

// takeEnded forgets a notification and reports whether there was one.
func (s *Session) takeEnded(c ownership.ClaimName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.ended[c]
	delete(s.ended, c)
	return ended
}

// notifiedMoved looks whether a notification speaks of a claim that has moved.
func (s *Session) notifiedMoved(f *ownership.ClaimMoved) {
	s.mu.Lock()
	none := len(s.ended) == 0
	s.mu.Unlock()
	switch {
	case none:
	case f.To == claim.InDoubt:
		s.endpoint.settleNotified(s.endpoint.now(), s, f.Claim())
	case f.To != claim.Published:
		s.takeEnded(f.Claim())
	}
}

// endSeen takes a CONFIRMED in. false: it is about others' memory.
func (l *Link) endSeen(at time.Duration, m wire.Confirmed) (ours bool, effects ownership.Effects, err error) {
	e, c := l.peer.endpoint, coreClaim(m.Claim)
	if string(c.Accessor) != e.config.Name || c.Incarnation != e.Incarnation() || c.Owner != l.member.Incarnation {
		return false, nil, nil
	}
	s := e.session(c.Piece.Session)
	if s == nil || s.side != ownership.Send {
		return true, nil, nil // closed
	}
	s.mu.Lock()
	j := s.jobs[c.Piece.Piece]
	s.mu.Unlock()
	if j == nil || j.remote != c {
		return true, nil, nil // of an operation that is not the current one: it changes nothing
	}
	e.noteAt(at, s, "operation "+j.claim.String()+": its target saw it end")
	effects, err = e.registry.Operation(at, ownership.OperationReport{Claim: j.claim, Status: operation.StatusConfirmed})
	return true, effects, err
}

// is reports whether the peer's present life is known to the backend by that name.
func (p *peer) is(life ownership.Incarnation, agent string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life == life && p.agent == agent
}
