// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// DefaultPiece is the name of a piece where a spec gives none.
const DefaultPiece = "kv"

// ReceiveSpec asks peers to write into a region.
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
	// data is meant, and none of which overlap; none means all of it. A source
	// with blocks of its own does not use these.
	Blocks []Block
	// From names the peers that are to write. Required; each once.
	From []Source
	// Label is opaque to the library and shown to the senders.
	Label string

	_ struct{}
}

// Source is one peer and the blocks that it is to write.
type Source struct {
	Peer   string
	Blocks []Block // none: those of the spec

	_ struct{}
}

// FromPeers returns sources that all write the blocks of the spec.
func FromPeers(names ...string) []Source {
	list := make([]Source, len(names))
	for i, name := range names {
		list[i].Peer = name
	}
	return list
}

// destination is a source that was looked up.
type destination struct {
	peer     *peer
	member   ownership.Member
	segments []wire.Segment
}

// Receive asks the peers for data and returns the session that owns the region
// from now on. An error says that no peer has heard of it and nothing is owned;
// otherwise even a publication that failed halfway is a session, whose outcome
// says so. The context bounds the sending of the requests, not the session.
func (e *Endpoint) Receive(ctx context.Context, spec ReceiveSpec) (*Session, error) {
	piece := ownership.PieceName{Session: e.sessionName(spec.Session), Piece: cmp.Or(spec.Piece, DefaultPiece)}
	targets, err := e.destinations(spec, piece)
	if err != nil {
		return nil, err
	}
	cohort := make([]ownership.Member, len(targets))
	for i, t := range targets {
		cohort[i] = t.member
	}
	s, claims, err := e.admit(ownership.Receive, piece, spec.Region, cohort)
	if err != nil {
		return nil, err
	}
	e.publish(ctx, s, piece, targets, func(i int) wire.RequestData {
		return wire.RequestData{Claim: wireClaim(claims[i]), Direction: wire.Write, Pieces: 1, Segments: targets[i].segments, Label: spec.Label}
	})
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

// destinations checks the spec and looks its peers up, before anything is owned.
func (e *Endpoint) destinations(spec ReceiveSpec, piece ownership.PieceName) ([]destination, error) {
	if spec.Region == nil || spec.Region.endpoint != e {
		return nil, invalid("receive", "Region is nil or another endpoint's")
	}
	if len(spec.From) == 0 {
		return nil, invalid("receive", "From is empty")
	}
	list := make([]destination, len(spec.From))
	for i, source := range spec.From {
		p, member, err := e.attached(source.Peer)
		if err != nil {
			return nil, err
		}
		blocks := source.Blocks
		if len(blocks) == 0 {
			blocks = spec.Blocks
		}
		where, err := segments(spec.Region, blocks)
		if err == nil {
			err = apart(spec.Region, where)
		}
		if err != nil {
			return nil, err
		}
		list[i] = destination{peer: p, member: member, segments: wireSegments(where)}
		// The peer would refuse to read what is not valid: find that out now.
		sample := wire.RequestData{Seq: 1, Direction: wire.Write, Segments: list[i].segments, Label: spec.Label, Claim: wireClaim(ownership.ClaimName{
			Owner: e.config.Incarnation, Piece: piece, Accessor: member.Accessor, Incarnation: member.Incarnation, Sequence: 1,
		})}
		if err := sample.Validate(); err != nil {
			return nil, &Error{What: "receive", Kind: ErrConfig, Err: err}
		}
	}
	return list, nil
}

// admit brings a session with one piece to the moment before its first
// publication: afterwards every claim is PUBLISHED and nothing has left yet.
// After an error nothing is left behind.
func (e *Endpoint) admit(side ownership.Side, piece ownership.PieceName, region *Region, cohort []ownership.Member) (*Session, []ownership.ClaimName, error) {
	if e.ctx.Err() != nil { // nobody would watch it
		return nil, nil, &Error{What: "endpoint " + e.config.Name, Kind: ErrHalted}
	}
	s, err := e.adopt(piece.Session, side, cohort)
	if err != nil {
		return nil, nil, err
	}
	effects, err := e.registry.Admit(e.now(), ownership.SessionSpec{Name: piece.Session, Side: side})
	e.apply(effects)
	if err != nil {
		e.forget(piece.Session)
		return nil, nil, err
	}
	claims, effects, err := e.addPiece(region, side, ownership.PieceSpec{Name: piece, Region: region.id, Cohort: cohort, Kind: piece.Piece})
	e.apply(effects)
	if err == nil {
		effects, err = e.registry.Seal(e.now(), piece)
		e.apply(effects)
	}
	if err != nil {
		if a := s.Answer(); a.Cause != "" {
			err = fmt.Errorf("%w (the session is %v)", err, a)
		}
		s.abandon("not_constructed")
		return nil, nil, err
	}
	return s, claims, nil
}

// publish sends a piece's requests, all at once, and tells the registry which
// of them may have left. No lock is held, and a peer that reads slowly delays
// neither the others nor any report.
func (e *Endpoint) publish(ctx context.Context, s *Session, piece ownership.PieceName, targets []destination, request func(int) wire.RequestData) {
	list := make([]*publication, len(targets))
	for i, t := range targets {
		list[i] = t.peer.publish(t.member, request(i))
	}
	published := map[ownership.Accessor]bool{}
	for i, pub := range list {
		select {
		case <-pub.done:
		case <-ctx.Done():
			pub.withdraw()
		case <-s.done: // cancelled meanwhile: what has not left shall not
			pub.withdraw()
		case <-e.ctx.Done():
			pub.withdraw()
		}
		if pub.state.Load() != withdrawn {
			published[targets[i].member.Accessor] = true
		}
	}
	if len(published) == len(targets) {
		e.finish(s, piece)
	} else if err := e.failSend(piece, published); err != nil {
		e.config.Log.Error("fan-out ended early", "piece", piece, "error", err)
	}
	if err := s.Complete(); err != nil {
		e.config.Log.Error("complete", "session", s.name, "error", err)
	}
}
