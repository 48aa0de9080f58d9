// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/ownership"
)

// requestOf gives a session's id its request: its letters are the endpoint that
// created it, its trailing digits the number (watermark: r5 is above r1 to r4).
// An id without such a number is a creator of its own.
func requestOf(id string) ownership.RequestID {
	letters := strings.TrimRight(id, "0123456789")
	digits := id[len(letters):]
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || letters == "" || len(digits) > 1 && digits[0] == '0' {
		return ownership.RequestID{Endpoint: id + ":"}
	}
	return ownership.RequestID{Endpoint: letters, Number: n}
}

// attemptOf makes a file's number an attempt; what is below 1 stays invalid.
func attemptOf(n int) uint32 {
	if n < 1 || int64(n) > int64(^uint32(0)) {
		return 0
	}
	return uint32(n)
}

// names remembers what a file's names stand for, over the whole run.
type names struct {
	own      ownership.Incarnation
	lives    map[string]uint32 // of accessors: how many have ended
	sessions map[string]uint32 // newest admitted attempt
	known    map[ownership.SessionName]bool
	pieces   map[string]*pieceNames
}

// pieceNames are the attempts in which a piece was admitted.
type pieceNames struct {
	newest  uint32
	claims  map[uint32][]ownership.ClaimName
	session string
}

func newNames() *names {
	return &names{
		own: life("", 0), lives: make(map[string]uint32),
		sessions: make(map[string]uint32), known: make(map[ownership.SessionName]bool), pieces: make(map[string]*pieceNames),
	}
}

// life returns an incarnation that is the same in every run.
func life(accessor string, n uint32) ownership.Incarnation {
	var i ownership.Incarnation
	copy(i[4:], accessor)
	binary.BigEndian.PutUint32(i[:4], n+1)
	return i
}

// member returns the accessor in its present life.
func (n *names) member(accessor string) ownership.Member {
	return ownership.Member{Accessor: ownership.Accessor(accessor), Incarnation: life(accessor, n.lives[accessor])}
}

// never is the name of a session that no file can admit.
var never = ownership.SessionName{Request: ownership.RequestID{Endpoint: ":"}, Attempt: 1}

// session returns the name that a reference means.
func (n *names) session(r ref) ownership.SessionName {
	name := ownership.SessionName{Request: requestOf(r.id), Attempt: attemptOf(r.attempt)}
	if !r.given {
		name.Attempt = n.sessions[r.id]
	}
	if !n.known[name] {
		return never
	}
	return name
}

// piece returns the name that a reference means.
func (n *names) piece(r ref) ownership.PieceName {
	p := n.pieces[r.id]
	if p == nil {
		return ownership.PieceName{Session: never, Piece: r.id}
	}
	of := ref{p.session, r.attempt, true}
	if !r.given {
		of.attempt = int(p.newest)
	}
	return ownership.PieceName{Session: n.session(of), Piece: r.id}
}

// claim returns the whole name of an accessor's claim on a piece; for one that
// is outside of the cohort, a name that is current but for the accessor.
func (n *names) claim(r ref, accessor string) ownership.ClaimName {
	piece := n.piece(r)
	m := n.member(accessor)
	out := ownership.ClaimName{Owner: n.own, Piece: piece, Accessor: m.Accessor, Incarnation: m.Incarnation}
	if p := n.pieces[r.id]; p != nil && piece.Session != never {
		for _, c := range p.claims[piece.Session.Attempt] {
			if c.Accessor == m.Accessor {
				return c
			}
			if out.Sequence == 0 {
				out.Sequence = c.Sequence
			}
		}
	}
	return out
}

// acknowledger returns the life of an accessor that acknowledges a session: the
// one that its newest claim there names.
func (n *names) acknowledger(session ownership.SessionName, accessor string) ownership.Member {
	m := n.member(accessor)
	var newest uint64
	for _, p := range n.pieces {
		for _, c := range p.claims[session.Attempt] {
			if c.Piece.Session == session && c.Accessor == m.Accessor && c.Sequence > newest {
				m.Incarnation, newest = c.Incarnation, c.Sequence
			}
		}
	}
	return m
}

func (n *names) admitted(id string, attempt uint32) {
	n.sessions[id] = max(n.sessions[id], attempt)
	n.known[ownership.SessionName{Request: requestOf(id), Attempt: attempt}] = true
}

func (n *names) added(id, session string, claims []ownership.ClaimName) {
	p := n.pieces[id]
	if p == nil {
		p = &pieceNames{session: session, claims: make(map[uint32][]ownership.ClaimName)}
		n.pieces[id] = p
	}
	attempt := claims[0].Piece.Session.Attempt
	p.newest = max(p.newest, attempt)
	p.claims[attempt] = claims
}
