// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	memberrules "github.com/kvxfer/kvxfer/gen/member"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// member is a peer's part in one session; what it is told is its system's to say.
// Most sessions succeed and tell nobody anything: they have no list of members. Its
// counts are small, as a session takes at most 65535 pieces.
type member struct {
	peer       *peer
	live       uint16 // claims PUBLISHED or IN_DOUBT
	publishing uint16 // gates with a claim of it
	unfenced   uint16 // claims
	rules      memberrules.System
	quiet      bool // in this step it is to be told that the session is quiesced
	visits     bool // it came before any piece named it
}

// listed reports whether the session has a list of its members.
func (s *session) listed() bool { return s.seldom != nil && s.seldom.listed }

// members returns the list, empty where there is none yet.
func (s *session) members() []member {
	if s.seldom == nil {
		return nil
	}
	return s.seldom.members
}

// member returns a peer's part in the session, nil where it has none or there is no list.
func (s *session) member(p *peer) *member {
	members := s.members()
	for k := range members {
		if members[k].peer == p {
			return &members[k]
		}
	}
	return nil
}

// list makes the list of the session's members, unless there is one: of those that
// its pieces name, but the own scatter or gather, which is told nothing.
func (c *core) list(s *session) {
	if s.listed() {
		return
	}
	s.more().listed = true
	for _, o := range s.pieces() {
		o.list()
	}
	if s.outcome() == outcome.Succeeded {
		for k := range s.seldom.members {
			s.seldom.members[k].hear(s)
		}
	}
}

// list makes the accessors of a piece members of its session, which has a list.
func (o *owner) list() {
	for i, p := range o.accessors() {
		m := o.session.join(p)
		if o.state(i).Live() {
			m.live++
		}
		if !o.fenced(i) {
			m.unfenced++
		}
		if o.gate() == gate.Publishing {
			m.publishing++
		}
	}
}

// join makes a peer a member of a session that has a list.
func (s *session) join(p *peer) *member {
	if m := s.member(p); m != nil {
		return m
	}
	rules, _ := memberrules.New(memberrules.Side(s.side)) // the side is one of the two
	s.seldom.members = append(s.seldom.members, member{peer: p, rules: rules})
	return &s.seldom.members[len(s.seldom.members)-1]
}

// hear says how the session stands to a member that comes after its end. It has
// nothing yet, so that nothing follows.
func (m *member) hear(s *session) {
	m.rules.Tell(s.stands(), s.clock.Settled(), false, false, false, nil)
}

// visit makes a peer a member because it asked for something.
func (c *core) visit(s *session, from Member) *member {
	c.list(s)
	if m, _ := s.memberOf(from); m != nil {
		return m
	}
	p := c.peer(from.Accessor, from.Incarnation)
	m := s.join(p)
	m.hear(s)
	m.visits = true
	p.visits = append(p.visits, s)
	return m
}

// count keeps the totals of a claim that moved: the peer's, and the member's in a session that has a list.
func (o *owner) count(i int, from, to claim.State) {
	if from == claim.InDoubt {
		o.peer(i).doubts--
	}
	if to == claim.InDoubt {
		o.peer(i).doubts++
	}
	if !o.session.listed() || from.Live() == to.Live() {
		return
	}
	if m := o.session.member(o.peer(i)); m != nil {
		if to.Live() {
			m.live++
		} else {
			m.live--
		}
	}
}

// countPublishing keeps the members' totals: one gate with them more or less.
func (o *owner) countPublishing(d int) {
	if !o.session.listed() {
		return
	}
	for _, p := range o.accessors() {
		o.session.member(p).publishing += uint16(d)
	}
}

// leave forgets a closed session in the records of those that visited it.
func (c *core) leave(s *session) {
	members := s.members()
	for k := range members {
		if m := &members[k]; m.visits {
			m.peer.leave()
			c.forgetIdle(m.peer)
		}
	}
}

// memberOf returns the member of that life, nil where the session names only other
// lives of the accessor, and whether it names the accessor at all.
func (s *session) memberOf(m Member) (found *member, named bool) {
	members := s.members()
	for k := range members {
		if p := members[k].peer; p.accessor == m.Accessor {
			if p.incarnation == m.Incarnation {
				return &members[k], true
			}
			named = true
		}
	}
	return nil, named
}
