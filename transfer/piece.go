// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// DefaultPiece is the name of a piece where a spec gives none.
const DefaultPiece = "kv"

// Piece is one of several ranges of memory that a session owns: a layer, a chunk,
// or what belongs to the key-value cache without being a part of it. Each one is
// requested, answered and proven for itself; the session has one outcome, which
// is a failure as soon as one piece has failed, and gives all back at once.
type Piece struct {
	// Name is unique in the session; DefaultPiece when empty.
	Name string
	// Kind is a label for logs and snapshots, such as "kv" or "aux"; Name when empty.
	Kind string
	// Region is the memory. It is owned whole until the session is closed. Required.
	Region *Region
	// Blocks are the ranges of the region, in the order in which each peer's data
	// is meant; none means all of it. Those that are to be written must not
	// overlap. An accessor with blocks of its own does not use these.
	Blocks []Block
	// Peers are those who are asked for this piece; none means those of the spec,
	// or of the session's first pieces.
	Peers []Accessor
	// Count, when > 0, says that exactly so many of Peers will do it, chosen by
	// themselves or by whoever coordinates them. Which ones is known when as many
	// have reported; the others must never have begun (contract section 4).
	Count int
	// Scatter, if not nil, distributes what was received when all of it is there.
	// See ReceiveSpec.
	Scatter backend.Local
	// Label is opaque to the library and shown to the peers; the spec's when empty.
	Label string

	_ struct{}
}

// Accessor is one peer and the blocks that it is to write, or to read.
type Accessor struct {
	Peer   string
	Blocks []Block // none: those of the piece

	_ struct{}
}

// FromPeers returns accessors that all write the blocks of the piece.
func FromPeers(names ...string) []Accessor { return accessors(names) }

// ToPeers returns accessors that all read the blocks of the piece.
func ToPeers(names ...string) []Accessor { return accessors(names) }

func accessors(names []string) []Accessor {
	list := make([]Accessor, len(names))
	for i, name := range names {
		list[i].Peer = name
	}
	return list
}

// asking is a piece whose peers were looked up: everything was checked, and
// nothing is owned yet.
type asking struct {
	piece   ownership.PieceName
	spec    Piece
	targets []target
}

// target is a peer that is asked for a piece.
type target struct {
	peer     *peer
	member   ownership.Member
	segments []wire.Segment
	space    wire.Space
}

// accessOf says what happens to the memory of whoever publishes its address.
func accessOf(d backend.Direction) ownership.Access {
	if d == backend.Read {
		return ownership.Reads
	}
	return ownership.Writes
}

// lookUp checks pieces and finds their peers, before anything is owned.
func (e *Endpoint) lookUp(name ownership.SessionName, direction backend.Direction, pieces []Piece) ([]asking, error) {
	if len(pieces) == 0 {
		return nil, invalid("session "+name.String(), "no pieces")
	}
	list := make([]asking, len(pieces))
	for i, p := range pieces {
		p.Name = cmp.Or(p.Name, DefaultPiece)
		p.Kind = cmp.Or(p.Kind, p.Name)
		a := asking{piece: ownership.PieceName{Session: name, Piece: p.Name}, spec: p}
		switch {
		case p.Region == nil || p.Region.endpoint != e:
			return nil, invalid("piece "+p.Name, "Region is nil or another endpoint's")
		case len(p.Peers) == 0:
			return nil, invalid("piece "+p.Name, "nobody is asked for it")
		}
		for _, who := range p.Peers {
			t, err := e.target(a.piece, direction, p, who)
			if err != nil {
				return nil, err
			}
			a.targets = append(a.targets, t)
		}
		list[i] = a
	}
	return list, nil
}

func (e *Endpoint) target(name ownership.PieceName, direction backend.Direction, p Piece, who Accessor) (t target, err error) {
	if t.peer, t.member, err = e.attached(who.Peer); err != nil {
		return t, err
	}
	blocks := who.Blocks
	if len(blocks) == 0 {
		blocks = p.Blocks
	}
	where, err := segments(p.Region, blocks)
	if err == nil && direction == backend.Write {
		err = apart(p.Region, where)
	}
	if err != nil {
		return t, err
	}
	t.segments, t.space = wireSegments(where), wire.Space{Kind: wire.MemoryKind(p.Region.memory.Kind), Device: p.Region.memory.Device}
	// The peer would refuse to read what is not valid: find that out now.
	sample := t.request(direction, p.Label, wireClaim(ownership.ClaimName{
		Owner: e.Incarnation(), Piece: name, Accessor: t.member.Accessor, Incarnation: t.member.Incarnation, Sequence: 1,
	}))
	sample.Seq = 1
	if err := sample.Validate(); err != nil {
		return t, &Error{What: "piece " + p.Name, Kind: ErrConfig, Err: err}
	}
	return t, nil
}

func (t target) request(direction backend.Direction, label string, claim wire.ClaimName) wire.RequestData {
	return wire.RequestData{Claim: claim, Direction: wire.Direction(direction), Space: t.space, Segments: t.segments, Label: label}
}

// cohort is who may touch the piece's memory.
func (a *asking) cohort() []ownership.Member {
	list := make([]ownership.Member, len(a.targets))
	for i, t := range a.targets {
		list[i] = t.member
	}
	return list
}

func (a *asking) pieceSpec(direction backend.Direction) ownership.PieceSpec {
	return ownership.PieceSpec{
		Name: a.piece, Region: a.spec.Region.id, Cohort: a.cohort(), Count: a.spec.Count, Local: a.spec.Scatter != nil,
		Access: accessOf(direction), Kind: a.spec.Kind,
	}
}
