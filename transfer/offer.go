// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
)

// OfferSpec lets peers read a region, or several: the pull side of a transfer.
// Its fields are those of ReceiveSpec, seen from whoever has the data.
type OfferSpec struct {
	Session ownership.SessionName // zero: a new request
	Piece   string                // DefaultPiece when empty
	// Region has the data. It is owned, together with others who only read it,
	// until the session is closed. Required.
	Region *Region
	Blocks []Block // none: all of it; they may overlap
	// To names the peers that are to read. Required; each once.
	To []Accessor
	// Count, when > 0, says that exactly so many of To will read; see Piece.
	Count int
	Label string
	// Pieces offers several pieces instead of the one above, all or none. A
	// scatter has no meaning in an offer, and is refused.
	Pieces []Piece
	Open   bool // leaves the session open for pieces that come later

	_ struct{}
}

// Offer publishes where data is, for the peers to read it: they get a Request
// whose direction is READ, and answer it with Request.Fetch. The session that it
// returns owns the memory until each of them has said, with proof, that it reads
// it no more. Everything else is as with Receive.
//
// On a transport like TCP prefer Receive: there a reader that dies in the middle
// can end the process whose memory it reads (see docs/nixl.md).
func (e *Endpoint) Offer(ctx context.Context, spec OfferSpec) (*Session, error) {
	one := Piece{Name: spec.Piece, Region: spec.Region, Blocks: spec.Blocks, Count: spec.Count}
	pieces, err := several(spec.Pieces, one)
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		if p.Scatter != nil {
			return nil, invalid("piece "+p.Name, "an offer has a Scatter")
		}
	}
	return e.ask(ctx, backend.Read, spec.Session, completed(pieces, spec.To, spec.Label), !spec.Open)
}
