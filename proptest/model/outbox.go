// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"time"
)

// Message waits for a peer. Its label is OK, FAILED, IN_DOUBT, FAILED_QUIESCED,
// CANCEL_SESSION or SESSION_QUIESCED.
type Message struct {
	To    Member
	Label string
	About Name
	Side  string // of the session here
}

// Queued is a message with the step that queued it. What one step queues for one
// peer about different sessions has no order among itself.
type Queued struct {
	Message
	Step int
}

// visit is a REQUEST_DATA.
type visit struct {
	session Name
	from    Member
}

// peer is what a session knows of one accessor's life.
type peer struct {
	of        Member
	member    bool // of a cohort
	requested bool // its REQUEST_DATA has arrived
	told      bool // CANCEL_SESSION was queued for it, or it said so itself
	owed      bool // a SESSION_QUIESCED
	wants     bool // the answer to a request begins with a CANCEL_SESSION
}

func (s *Session) peer(m Member) *peer {
	for _, p := range s.peers {
		if p.of == m {
			return p
		}
	}
	p := &peer{of: m}
	s.peers = append(s.peers, p)
	return p
}

// unfenced reports whether a peer has a claim in the session whose name is not
// over, for which want holds.
func (s *Session) unfenced(m Member, want func(*Piece, *ClaimState) bool) bool {
	for _, p := range s.Pieces {
		if c := p.find(m.Accessor); c != nil && c.Of == m && !c.Fenced && want(p, c) {
			return true
		}
	}
	return false
}

func anyClaim(*Piece, *ClaimState) bool { return true }

func (r *Registry) queue(to Member, label string, about Name, side string) {
	r.Waiting = append(r.Waiting, Queued{Message{to, label, about, side}, r.steps})
}

func (r *Registry) waits(m Message) bool {
	return slices.ContainsFunc(r.Waiting, func(q Queued) bool { return q.Message == m })
}

// For returns what waits for an accessor, the oldest first.
func (r *Registry) For(accessor string) (out []Queued) {
	for _, m := range r.Waiting {
		if m.To.Accessor == accessor {
			out = append(out, m)
		}
	}
	return out
}

// Delivered takes a message out, and reports whether it may leave now: nothing
// that an earlier step queued for its accessor waits, and nothing older about its
// session.
func (r *Registry) Delivered(m Message) bool {
	for i, q := range r.Waiting {
		switch {
		case q.To.Accessor != m.To.Accessor:
		case q.Message == m:
			r.Waiting = slices.Delete(r.Waiting, i, i+1)
			return true
		case q.About == m.About || slices.ContainsFunc(r.Waiting, func(o Queued) bool { return o.Message == m && o.Step > q.Step }):
			return false
		}
	}
	return false
}

// tell is the sender's RESULT: one when a peer's claim moves (§8).
func (r *Registry) tell(s *Session, p *Piece, c *ClaimState, was, event string) {
	label := map[string]string{"DRAINED": "OK", "SAFE_UNPUBLISHED": "FAILED", "IN_DOUBT": "IN_DOUBT", "FAILED_QUIESCED": "FAILED_QUIESCED"}[c.State]
	if c.Verdict == "FAILED" && c.State == "DRAINED" {
		label = "FAILED"
	}
	if s.Side == "send" && c != p.Local && was != "UNPUBLISHED" && !p.Invalid && !c.Fenced {
		r.queue(c.Of, label, s.Name, s.Side)
	}
}

// messages queues what a step made due besides the RESULTs: every
// CANCEL_SESSION, then every SESSION_QUIESCED.
func (r *Registry) messages() {
	for _, s := range r.Sessions {
		if s.Side == "receive" {
			s.tellSenders(r)
			continue
		}
		s.tellReceivers(r)
		for _, p := range s.peers {
			if p.owed && p.wants && !p.told && s.Settled() {
				p.told = true
				r.queue(p.of, "CANCEL_SESSION", s.Name, s.Side)
			}
		}
	}
	for _, s := range r.Sessions {
		s.quiesce(r)
	}
}

// tellSenders: a receiver's CANCEL_SESSION, once to an accessor, whatever lives
// of it the session names.
func (s *Session) tellSenders(r *Registry) {
	for _, p := range s.peers {
		live := s.unfenced(p.of, func(_ *Piece, c *ClaimState) bool { return Live(c.State) })
		publishing := slices.ContainsFunc(s.Pieces, func(o *Piece) bool {
			return o.Gate == "PUBLISHING" && o.find(p.of.Accessor) != nil
		})
		told := slices.ContainsFunc(s.peers, func(o *peer) bool { return o.told && o.of.Accessor == p.of.Accessor })
		if s.lost() && !told && live && !publishing {
			p.told = true
			r.queue(p.of, "CANCEL_SESSION", s.Name, s.Side)
		}
	}
}

// tellReceivers: a sender's CANCEL_SESSION, at once when its session is lost.
func (s *Session) tellReceivers(r *Registry) {
	if !s.lost() || s.was.outcome != "ACTIVE" {
		return
	}
	for _, p := range s.peers {
		if !p.requested && !s.unfenced(p.of, anyClaim) {
			continue
		}
		p.owed = true
		if !p.told {
			p.told = true
			r.queue(p.of, "CANCEL_SESSION", s.Name, s.Side)
		}
	}
}

// quiesce: a sender's SESSION_QUIESCED, once the session is settled; taken back
// if it no longer is before the message left.
func (s *Session) quiesce(r *Registry) {
	if s.Side != "send" || s.Outcome == "ACTIVE" {
		return
	}
	for _, p := range s.peers {
		message := Message{p.of, "SESSION_QUIESCED", s.Name, s.Side}
		waits := r.waits(message)
		switch {
		case !s.Settled() && waits:
			r.Waiting = slices.DeleteFunc(r.Waiting, func(q Queued) bool { return q.Message == message })
			p.owed = true
		case waits:
			p.owed = false
		case s.Settled() && p.owed:
			r.queue(p.of, message.Label, s.Name, s.Side)
			p.owed = false
		}
	}
}

// waitFor counts what waits for each accessor.
func (r *Registry) waitFor() map[string]int {
	n := make(map[string]int)
	for _, q := range r.Waiting {
		n[q.To.Accessor]++
	}
	return n
}

// crowded: as much waits as may, where nobody's counts for more than its share.
func (r *Registry) crowded() bool {
	all := 0
	for _, n := range r.waitFor() {
		if share := r.Config.PeerOutbox; share > 0 {
			n = min(n, share)
		}
		all += n
	}
	return full(all, r.Config.Outbox)
}

// unread: as much waits for one accessor as may.
func (r *Registry) unread(m Member) bool {
	return full(r.waitFor()[m.Accessor], r.Config.PeerOutbox)
}

// unanswerable: there is no room for an answer, and none waits.
func (r *Registry) unanswerable(v visit) bool {
	return r.unread(v.from) && !r.waits(Message{v.from, "SESSION_QUIESCED", v.session, "send"})
}

// over reports whether an attempt that is not owned holds nothing here and never
// will, and whether that is a success.
func (r *Registry) ended(n Name) (never, succeeded bool) {
	if s := r.over[n]; s != nil {
		return true, s.Outcome == "SUCCEEDED"
	}
	return r.covered(n) || r.below(n) || n.Attempt < r.newest[n.Request], false
}

// answer answers a request or cancel for an attempt that is not owned.
func (r *Registry) answer(v visit, request bool) {
	if r.waits(Message{v.from, "SESSION_QUIESCED", v.session, "send"}) {
		return
	}
	if request {
		r.queue(v.from, "CANCEL_SESSION", v.session, "send")
	}
	r.queue(v.from, "SESSION_QUIESCED", v.session, "send")
}

// Requested is a REQUEST_DATA that has arrived (§8).
func (r *Registry) Requested(at time.Duration, n Name, from Member) string {
	return r.step(at, func() string {
		s := r.Find(n)
		was := r.over[n]
		never, succeeded := r.ended(n)
		v := visit{n, from}
		switch {
		case n.Attempt < 1 || s != nil && s.Side != "send" || was != nil && was.Side != "send":
			return Invalid
		case s != nil:
			s.requested(from)
		case never && succeeded:
		case never && r.unanswerable(v):
			return Capacity
		case never:
			r.answer(v, true)
		case slices.Contains(r.kept, v):
		default:
			return r.keep(v)
		}
		return ""
	})
}

// keep remembers a request; where there is no room, those of the accessor's other
// lives go first.
func (r *Registry) keep(v visit) string {
	crowded := func() bool {
		own := 0
		for _, k := range r.kept {
			if k.from.Accessor == v.from.Accessor {
				own++
			}
		}
		return full(len(r.kept), r.Config.Requests) || full(own, r.Config.PeerRequests)
	}
	if crowded() {
		r.kept = slices.DeleteFunc(r.kept, func(k visit) bool { return k.from.Accessor == v.from.Accessor && k.from != v.from })
	}
	if crowded() {
		return Capacity
	}
	r.kept = append(r.kept, v)
	return ""
}

func (s *Session) requested(from Member) {
	p := s.peer(from)
	p.requested = true
	if s.lost() {
		p.owed, p.wants = true, true
	}
}

// admitVisits hands the kept requests of a session to it, and answers those of
// the attempts that will never come now.
func (r *Registry) admitVisits(s *Session) {
	for _, v := range slices.Clone(r.kept) {
		if v.session == s.Name {
			r.kept = slices.DeleteFunc(r.kept, func(o visit) bool { return o == v })
			if s.Side == "send" {
				s.requested(v.from)
			}
		}
	}
	r.answerKept()
}

// answerKept answers the kept requests of attempts that will never come.
func (r *Registry) answerKept() {
	for _, v := range slices.Clone(r.kept) {
		if never, _ := r.ended(v.session); never && r.Find(v.session) == nil {
			r.kept = slices.DeleteFunc(r.kept, func(o visit) bool { return o == v })
			r.answer(v, true)
		}
	}
}

// Answer is what a cancel returns.
type Answer struct{ Outcome, Cause, Origin, Physical string }

// Cancel is §7. From may be zero where nobody is to be answered. It is of the
// other side of the session, or a receiver where the session is not known: only
// a receiver is answered.
func (r *Registry) Cancel(at time.Duration, n Name, origin string, from Member) (a Answer, kind string) {
	kind = r.step(at, func() string {
		if n.Attempt == 0 {
			n.Attempt = max(1, r.newest[n.Request])
		}
		if s := r.Find(n); s != nil {
			if s.Side == "send" && from != (Member{}) {
				s.cancelledBy(from)
			}
			s.end("CANCELLED", "cancel", origin)
			a = Answer{s.Outcome, s.Cause, s.Origin, r.Physical(s)}
			return ""
		}
		answered := from != (Member{}) && (r.over[n] == nil || r.over[n].Side == "send")
		if answered && r.unanswerable(visit{n, from}) {
			return Capacity
		}
		if kind := r.bury(n, origin, from.Accessor); kind != "" {
			return kind
		}
		r.answerKept()
		a = Answer{Physical: "RETIRED"}
		if s := r.over[n]; s != nil {
			a.Outcome, a.Cause, a.Origin = s.Outcome, s.Cause, s.Origin
		} else if r.covered(n) {
			a.Outcome, a.Cause, a.Origin = "CANCELLED", "cancel", r.tombstones[n.Request].origin
		}
		if answered {
			r.answer(visit{n, from}, false)
		}
		return ""
	})
	return a, kind
}

// cancelledBy: the peer whose cancel it is knows.
func (s *Session) cancelledBy(from Member) {
	p := s.peer(from)
	p.told, p.owed = true, true
}

// bury leaves a tombstone for an attempt that is newer than any admitted one.
func (r *Registry) bury(n Name, origin, by string) string {
	share := 0
	for _, t := range r.tombstones {
		if by != "" && t.by == by {
			share++
		}
	}
	switch t := r.tombstones[n.Request]; {
	case r.below(n) || n.Attempt <= r.newest[n.Request]:
	case t != nil:
		t.attempt = min(t.attempt, n.Attempt)
	case full(len(r.tombstones), r.Config.Tombstones), full(share, r.Config.PeerTombstones):
		return Capacity
	default:
		r.tombstones[n.Request] = &tomb{n.Attempt, origin, by}
	}
	return ""
}

// forgetPeer is what a fence does to messages: what waits for the lives is
// discarded, and nothing is queued under the names that it ended.
func (r *Registry) forgetPeer(of Member, scope string) {
	for _, s := range r.Sessions {
		for _, p := range s.peers {
			if is(p.of, of) && reaches(scope, s.Side, "") {
				p.owed, p.requested, p.wants = false, false, false
			}
		}
	}
	r.Waiting = slices.DeleteFunc(r.Waiting, func(m Queued) bool {
		return is(m.To, of) && reaches(scope, m.Side, "")
	})
	r.kept = slices.DeleteFunc(r.kept, func(v visit) bool { return is(v.from, of) && reaches(scope, "send", "") })
	if scope != "all" {
		return
	}
	for q := range r.tombstones {
		if q.Endpoint == of.Accessor {
			delete(r.tombstones, q)
		}
	}
}
