// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
)

// ReceiveSpec asks peers to write into a region, or into several.
type ReceiveSpec struct {
	// Session names the attempt of the request. Zero: the endpoint makes a new
	// request. The name must be new to both sides.
	Session ownership.SessionName
	// Piece is the name of the piece; DefaultPiece when empty.
	Piece string
	// Region is where the data goes. It is owned whole until the session is
	// closed. Required.
	Region *Region
	// Blocks are the ranges of the region, in the order in which each sender's
	// data is meant, and none of which overlap; none means all of it. A sender
	// with blocks of its own does not use these.
	Blocks []Block
	// From names the peers that are to write. Required; each once.
	From []Accessor
	// Count, when > 0, says that exactly so many of From will write; see Piece.
	Count int
	// Scatter, if not nil, distributes what was received. It is a claim of its own
	// on the region: the endpoint starts it once every sender that counts has
	// delivered and nobody can touch the memory any more, and never with failed
	// data; the session succeeds when it has ended, and owns the memory until that
	// is proven. It must not have been started; it is the endpoint's, which
	// releases it on proof, from when the call returns without an error.
	Scatter backend.Local
	// Label is opaque to the library and shown to the senders.
	Label string
	// Pieces asks for several pieces instead of the one that Piece, Region,
	// Blocks, Count and Scatter describe: all of them are published, or none.
	// From and Label are theirs where they have none.
	Pieces []Piece
	// Open leaves the session open for pieces that come later, with Session.Add;
	// it cannot succeed before Session.AddLast or Session.Complete.
	Open bool

	_ struct{}
}

// Receive asks the peers for data and returns the session that owns the memory
// from now on. An error says that no peer has heard of it and nothing is owned;
// otherwise even a publication that failed halfway is a session, whose outcome
// says so. The context bounds the sending of the requests, not the session.
func (e *Endpoint) Receive(ctx context.Context, spec ReceiveSpec) (*Session, error) {
	one := Piece{Name: spec.Piece, Region: spec.Region, Blocks: spec.Blocks, Count: spec.Count, Scatter: spec.Scatter}
	pieces, err := several(spec.Pieces, one)
	if err != nil {
		return nil, err
	}
	return e.ask(ctx, backend.Write, spec.Session, completed(pieces, spec.From, spec.Label), !spec.Open)
}

// several returns the pieces of a spec, which are a list or one.
func several(list []Piece, one Piece) ([]Piece, error) {
	if len(list) == 0 {
		return []Piece{one}, nil
	}
	if one.Name != "" || one.Region != nil || one.Blocks != nil || one.Count != 0 || one.Scatter != nil {
		return nil, invalid("spec", "both Pieces and a piece of its own")
	}
	return list, nil
}

// completed fills in what pieces leave to the spec.
func completed(pieces []Piece, peers []Accessor, label string) []Piece {
	list := make([]Piece, len(pieces))
	for i, p := range pieces {
		if len(p.Peers) == 0 {
			p.Peers = peers
		}
		if p.Label == "" {
			p.Label = label
		}
		list[i] = p
	}
	return list
}

// ask makes a session that publishes addresses. What is written here, and below
// it, holds for both directions: the claims are on what peers do by themselves.
func (e *Endpoint) ask(ctx context.Context, direction backend.Direction, name ownership.SessionName, pieces []Piece, last bool) (*Session, error) {
	name = e.sessionName(name)
	list, err := e.lookUp(name, direction, pieces)
	if err != nil {
		return nil, err
	}
	s, err := e.admit(ownership.Receive, direction, name)
	if err != nil {
		return nil, err
	}
	s.peers, s.label = pieces[0].Peers, pieces[0].Label
	fanOut, err := s.reserve(list, last)
	s.leave()
	if err != nil { // of a session that nobody has, nothing stays
		err = s.withAnswer(err)
		s.abandon("not_constructed")
		return nil, err
	}
	fanOut.run(ctx)
	return s, nil
}

// sessionName fills in what the caller left open.
func (e *Endpoint) sessionName(name ownership.SessionName) ownership.SessionName {
	if name.Request == (ownership.RequestID{}) {
		name.Request = ownership.RequestID{Endpoint: e.config.Name, Number: e.number.Add(1)}
	}
	if name.Attempt == 0 {
		name.Attempt = 1
	}
	return name
}

// admit takes a session in, without a piece; the caller is inside of it, and ends
// that with leave. After an error nothing is left behind.
func (e *Endpoint) admit(side ownership.Side, direction backend.Direction, name ownership.SessionName, cohort ...ownership.Member) (*Session, error) {
	if e.ctx.Err() != nil { // nobody would watch it
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: ErrHalted}
	}
	if shut := e.calls.closed(); shut != nil {
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: shut}
	}
	s, err := e.adopt(name, side, direction, cohort...)
	if err != nil {
		return nil, err
	}
	effects, err := e.registry.Admit(e.now(), ownership.SessionSpec{Name: name, Side: side})
	e.apply(effects)
	if err != nil {
		e.forget(name)
		s.leave()
		return nil, err
	}
	e.mu.Lock()
	s.admitted = true
	e.mu.Unlock()
	return s, nil
}
