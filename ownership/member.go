// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"

	memberrules "github.com/kvxfer/kvxfer/gen/member"
)

// peer is one life of an accessor, with the sessions that name it. The own
// scatter and gather are the peer named Local.
type peer struct {
	accessor    Accessor
	incarnation Incarnation
	gone        bool // reports and acknowledgements of it are stale
	doubts      int  // claims IN_DOUBT
	sessions    []*session
	dead        int // of sessions: closed ones, and nil where one was
	// How far a compaction of sessions has come: those before kept stay, from
	// there to seen all are nil. Both are 0 while none runs.
	kept, seen int
}

// idle reports whether no owned session names the peer.
func (p *peer) idle() bool { return p.dead == len(p.sessions) }

// sweepSteps is how many places a leaving session looks at: a compaction of n
// places takes n/4 leavings.
const sweepSteps = 4

// maxIdleRoom is how long an empty list may be that is kept for later.
const maxIdleRoom = 64

// leave counts a session that was closed. The list is compacted when half of it
// is dead, a few places at each leaving: no caller waits for a long list.
func (p *peer) leave() {
	p.dead++
	if p.idle() {
		if cap(p.sessions) > maxIdleRoom {
			p.sessions = nil
		}
		clear(p.sessions)
		p.sessions, p.dead, p.kept, p.seen = p.sessions[:0], 0, 0, 0
		return
	}
	for n := 0; n < sweepSteps && (p.seen > 0 || 2*p.dead >= len(p.sessions)); n++ {
		p.sweep()
	}
}

// sweep looks at one place of the list.
func (p *peer) sweep() {
	s := p.sessions[p.seen]
	p.sessions[p.seen] = nil
	p.seen++
	if s != nil && !s.rules.Closed() {
		p.sessions[p.kept] = s
		p.kept++
	}
	if p.seen == len(p.sessions) {
		p.dead -= p.seen - p.kept
		p.sessions, p.kept, p.seen = p.sessions[:p.kept], 0, 0
	}
}

func (p *peer) local() bool { return p.accessor == Local }

func (p *peer) member() Member { return Member{Accessor: p.accessor, Incarnation: p.incarnation} }

// member is a peer's part in one session; what it is told is its system's to say.
type member struct {
	peer       *peer
	live       uint16 // claims PUBLISHED or IN_DOUBT
	publishing uint16 // gates with a claim of it
	unfenced   uint16 // claims
	rules      memberrules.System
	quiet      bool // in this step it is to be told that the session is quiesced
}

// maxMembers bounds the accessors of a session, and its pieces, so that claims
// and members stay small.
const maxMembers = 1<<16 - 1

// knownPeer returns the record of that life, nil if no session names it.
func (c *core) knownPeer(a Accessor, i Incarnation) *peer {
	for _, p := range c.peers[a] {
		if p.incarnation == i {
			return p
		}
	}
	return nil
}

// join makes a life of an accessor a member of a session and returns its index.
func (c *core) join(s *session, a Accessor, i Incarnation) int {
	for k := range s.members {
		if p := s.members[k].peer; p.incarnation == i && p.accessor == a {
			return k
		}
	}
	p := c.knownPeer(a, i)
	switch {
	case p == nil:
		p = &peer{accessor: a, incarnation: i}
		c.peers[a] = append(c.peers[a], p)
		c.known++
	case p.idle():
		c.lonely--
	}
	p.sessions = append(p.sessions, s)
	rules, _ := memberrules.New(memberrules.Side(s.side))               // the side is one of the two
	rules.Tell(s.stands(), s.clock.Settled(), false, false, false, nil) // it has nothing yet
	s.members = append(s.members, member{peer: p, rules: rules})
	return len(s.members) - 1
}

// leave forgets a closed session in all of its members' records.
func (c *core) leave(s *session) {
	for k := range s.members {
		p := s.members[k].peer
		if p.leave(); p.idle() {
			c.lonely++
		}
	}
	if c.lonely > maxLonely && 2*c.lonely > c.known {
		c.forgetLonely()
	}
}

// maxLonely is how many peers without a session are remembered whatever else is
// known: most come back soon.
const maxLonely = 64

// forgetLonely drops the peers that no owned session names. Half of all are
// when it runs, so that it costs each session a constant.
func (c *core) forgetLonely() {
	for a, list := range c.peers {
		list = slices.DeleteFunc(list, (*peer).idle)
		if len(list) == 0 {
			delete(c.peers, a)
		} else {
			c.peers[a] = list
		}
	}
	c.known -= c.lonely
	c.lonely = 0
}
