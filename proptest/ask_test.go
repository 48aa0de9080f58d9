// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// ask begins a transfer: bytes are received by a node or offered by it.
func (n *network) ask(t *rapid.T) {
	p := n.any(t)
	h := &held{node: p, writes: !flip.Draw(t, "offer"), open: dice.Draw(t, "open") > 6}
	name := ownership.SessionName{Request: ownership.RequestID{Endpoint: p.name, Number: uint64(1000*p.life + len(n.log))}, Attempt: 1}
	pieces := n.pieces(t, h, name)
	if len(pieces) == 0 {
		return
	}
	n.note("%s asks as %v for %d pieces with %q, offer: %v, open: %v", p.name, name, len(pieces), pieces[0].Label, !h.writes, h.open)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var err error
	if h.writes {
		h.Session, err = p.Receive(ctx, transfer.ReceiveSpec{Session: name, Pieces: pieces, Open: h.open})
	} else {
		h.Session, err = p.Offer(ctx, transfer.OfferSpec{Session: name, Pieces: pieces, Open: h.open})
	}
	for _, piece := range h.pieces {
		piece.asked = err == nil
		if err != nil {
			p.back(piece.area, piece.region, false, "asked in vain: "+err.Error())
		}
	}
	if err == nil {
		n.hold(h)
	}
}

// add asks for more in one of the last sessions that are open for it, or ends that.
func (n *network) add(t *rapid.T) {
	n.mu.Lock()
	var open []*held
	for _, h := range n.sessions {
		if h.open && !h.over && h.node.alive() {
			open = append(open, h)
		}
	}
	n.mu.Unlock()
	if len(open) == 0 {
		return
	}
	h := open[rapid.IntRange(max(0, len(open)-3), len(open)-1).Draw(t, "session")]
	what := dice.Draw(t, "add")
	if what == 0 {
		n.note("%s completes %v", h.node.name, h.Name())
		_ = h.Complete() // it may be over
		return
	}
	before := len(h.pieces)
	pieces := n.pieces(t, h, h.Name())
	if len(pieces) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	n.note("%s adds %d pieces to %v, the last ones: %v", h.node.name, len(pieces), h.Name(), what > 3)
	var err error
	if what > 3 {
		err = h.AddLast(ctx, pieces...)
	} else {
		err = h.Add(ctx, pieces...)
	}
	n.added(h, before, err)
}

// added settles whose the further pieces are: the session's, which may have given
// them back already, or after an error nobody's.
func (n *network) added(h *held, before int, err error) {
	n.mu.Lock()
	further := slices.Clone(h.pieces[before:])
	if err != nil {
		h.pieces = h.pieces[:before]
	}
	over := h.over
	for _, piece := range further {
		piece.asked = err == nil
	}
	n.mu.Unlock()
	for _, piece := range further {
		if err != nil || over {
			h.node.back(piece.area, piece.region, err == nil, fmt.Sprintf("added to %v: %v", h.Name(), err))
		}
	}
}

// pieces draws some pieces for a session, takes their memory, and notes both.
func (n *network) pieces(t *rapid.T, h *held, name ownership.SessionName) (out []transfer.Piece) {
	p := h.node
	for k := range few.Draw(t, "pieces") {
		a := p.areas[(some.Draw(t, "area")+k)%areas]
		l := plan{manner.Draw(t, "manner"), some.Draw(t, "answerer's area"), delay.Draw(t, "answer after"), n.localFault(t), "-"}
		spread := h.writes && flip.Draw(t, "scatter")
		fault := n.localFault(t)
		who, count := n.cohort(t, p, &l)
		region := p.take(a, !h.writes)
		if region == nil {
			continue
		}
		n.mu.Lock()
		piece := &heldPiece{name: fmt.Sprintf("p%d", len(h.pieces)), area: a, region: region, spread: spread, counted: count > 0}
		h.pieces = append(h.pieces, piece)
		n.mu.Unlock()
		asks := transfer.Piece{Name: piece.name, Region: region, Label: l.label(), Peers: who, Count: count}
		if spread {
			asks.Scatter = p.local(a.span, a.aside, fault)
		}
		piece.moves(n, h, name, asks, l.chosen)
		out = append(out, asks)
	}
	return out
}

// cohort draws who is asked for a piece: one node, both others for a half each, or
// one of them, chosen among themselves.
func (n *network) cohort(t *rapid.T, p *node, l *plan) (who []transfer.Accessor, count int) {
	others, one := n.others(p), n.other(t, p)
	switch how := dice.Draw(t, "cohort"); {
	case len(others) == 1 && how == 11: // one of one
		l.chosen = one.name
		return transfer.FromPeers(one.name), 1
	case len(others) == 1 || how < 7:
		return transfer.FromPeers(one.name), 0
	case how < 9:
		l.chosen = one.name
		return transfer.FromPeers(others[0].name, others[1].name), 1
	}
	for i, o := range others {
		who = append(who, transfer.Accessor{Peer: o.name, Blocks: []transfer.Block{{Offset: uint64(i) * regionLen / 2, Len: regionLen / 2}}})
	}
	return who, 0
}

// moves notes which bytes come from whom, or go to whom.
func (h *heldPiece) moves(n *network, of *held, name ownership.SessionName, asks transfer.Piece, chosen string) {
	for _, a := range asks.Peers {
		r := portion{key(name, h.name, a.Peer), 0, regionLen}
		if len(a.Blocks) > 0 {
			r.at, r.len = int(a.Blocks[0].Offset), int(a.Blocks[0].Len)
		}
		switch {
		case chosen != "-" && chosen != a.Peer:
		case of.writes:
			h.parts = append(h.parts, r)
		default:
			n.source(r.source, h.area.content()[r.at:r.at+r.len])
		}
	}
}

// localFault is after how many bytes an own copy is lost; 0: it is not.
func (n *network) localFault(t *rapid.T) int64 {
	if !roll(t, "lose the copy") {
		return 0
	}
	n.harmed = true
	return rapid.Int64Range(1, regionLen-1).Draw(t, "after")
}
