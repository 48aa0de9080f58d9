// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import "github.com/kvxfer/kvxfer/ownership"

// memory remembers what the registry forgets: sessions as they were released.
type memory struct {
	owned    map[ownership.SessionName]ownership.SessionState // as of the last call
	closed   map[ownership.SessionName]ownership.SessionState
	released map[ownership.SessionName]int
}

func (m *memory) init() {
	m.closed = make(map[ownership.SessionName]ownership.SessionState)
	m.released = make(map[ownership.SessionName]int)
}

// take takes in one call: the sessions that it closed are kept as they were
// before it, with what it did to them.
func (m *memory) take(after ownership.Snapshot, effects ownership.Effects) {
	for _, e := range effects {
		switch e := e.(type) {
		case *ownership.SessionEnded:
			s := m.owned[e.Session]
			if e.Outcome.IsValid() {
				s.Outcome, s.Cause, s.Origin = e.Outcome, e.Cause, e.Origin
			}
			m.owned[e.Session] = s
		case *ownership.PieceEnded:
			m.change(e.Piece, func(p *ownership.PieceState) {
				p.Outcome, p.Cause, p.Origin = e.Outcome, e.Cause, e.Origin
			})
		case *ownership.GateMoved:
			m.change(e.Piece, func(p *ownership.PieceState) { p.Gate = e.To })
		case *ownership.ClaimMoved:
			m.change(e.Claim().Piece, func(p *ownership.PieceState) { move(p, e) })
		case *ownership.Released:
			m.released[e.Piece.Session]++
		case *ownership.SessionClosed:
			s := m.owned[e.Session]
			s.Physical = ownership.PhysicalRetired
			for i := range s.Pieces {
				s.Pieces[i].Drained = true
			}
			m.closed[e.Session] = s
		}
	}
	m.owned = make(map[ownership.SessionName]ownership.SessionState, len(after.Sessions))
	for _, s := range after.Sessions {
		if _, again := m.closed[s.Name]; again {
			delete(m.closed, s.Name)
			m.released[s.Name] = 0
		}
		m.owned[s.Name] = s
	}
}

func (m *memory) change(name ownership.PieceName, fn func(*ownership.PieceState)) {
	for i := range m.owned[name.Session].Pieces {
		if p := &m.owned[name.Session].Pieces[i]; p.Name == name {
			fn(p)
		}
	}
}

func move(p *ownership.PieceState, e *ownership.ClaimMoved) {
	if p.Local != nil && p.Local.Name == e.Claim() {
		p.Local.State = e.To
	}
	for i := range p.Claims {
		if p.Claims[i].Name == e.Claim() {
			p.Claims[i].State = e.To
		}
	}
}

// session returns a session as it is, or as it was released.
func (m *memory) session(name ownership.SessionName) (s ownership.SessionState, closed, known bool) {
	if s, ok := m.owned[name]; ok {
		return s, false, true
	}
	s, ok := m.closed[name]
	return s, true, ok
}

// piece returns a piece as it is, or as it was released.
func (m *memory) piece(name ownership.PieceName) (ownership.PieceState, bool) {
	s, _, _ := m.session(name.Session)
	for _, p := range s.Pieces {
		if p.Name == name {
			return p, true
		}
	}
	return ownership.PieceState{}, false
}
