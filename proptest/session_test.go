// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// held is one session on one side, and what it owns there.
type held struct {
	*transfer.Session
	node   *node
	pieces []*heldPiece // guarded by the network's mu
	writes bool         // into the areas
	open   bool         // for more pieces
	over   bool         // guarded by the network's mu: it has given everything back
}

type heldPiece struct {
	name    string
	area    *area
	region  *transfer.Region
	parts   []portion // whose bytes arrive there
	counted bool      // one of several candidates moves them
	spread  bool      // a scatter copies the area aside
	asked   bool      // the session has it for certain
}

// portion is a range of a piece and the name under which the bytes for it are noted.
type portion struct {
	source  string
	at, len int
}

// key names what one accessor of a piece moves.
func key(s ownership.SessionName, piece, accessor string) string {
	return s.String() + ":" + piece + ":" + accessor
}

// source notes bytes that are to be delivered.
func (n *network) source(key string, content []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sources[key] = bytes.Clone(content)
}

// hold follows a session until it gives its memory back, or its process dies.
func (n *network) hold(h *held) {
	n.mu.Lock()
	n.sessions = append(n.sessions, h)
	n.mu.Unlock()
	n.waiters.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-h.node.dead:
				cancel()
			case <-ctx.Done():
			}
		}()
		if err := h.Drain(ctx); err != nil {
			return // killed, halted or FATAL: what it owns, it owns for good
		}
		<-h.Released() // it may be another one's Drain that is giving back
		n.mu.Lock()
		n.arrived(h)
		n.released++
		h.over = true
		var pieces []*heldPiece
		for _, p := range h.pieces {
			if p.asked {
				pieces = append(pieces, p)
			}
		}
		n.mu.Unlock()
		for _, p := range pieces {
			h.node.back(p.area, p.region, true, "session "+h.Name().String()+" is drained")
		}
	})
}

// arrived compares what a successful session delivered, byte by byte.
func (n *network) arrived(h *held) {
	if !h.writes || h.Answer().Outcome != outcome.Succeeded {
		return
	}
	n.moved++
	for _, p := range h.pieces {
		if !p.area.mine() {
			continue // its blocks are somebody else's already
		}
		got, aside := p.area.content(), p.area.aside.content()
		for _, r := range p.parts {
			if want := n.sources[r.source]; !bytes.Equal(got[r.at:r.at+r.len], want) {
				n.bad = append(n.bad, finding{h.node, fmt.Sprintf("%s: session %v succeeded, and %s has other bytes than were sent", h.node.name, h.Name(), p.area.id)})
			} else if p.spread && !bytes.Equal(aside[r.at:r.at+r.len], want) {
				n.bad = append(n.bad, finding{h.node, fmt.Sprintf("%s: session %v succeeded, and the scatter of %s left other bytes", h.node.name, h.Name(), p.area.id)})
			}
		}
	}
	n.count(h)
}

// count notes which kinds of sessions delivered.
func (n *network) count(h *held) {
	if h.open {
		n.kinds["open"]++
	}
	for _, p := range h.pieces {
		if p.area.region == nil {
			n.kinds["pooled"]++
		}
		if len(p.parts) > 1 {
			n.kinds["two peers"]++
		}
		if p.counted {
			n.kinds["counted"]++
		}
	}
}

// plan is what an answerer is to do, as the label of a request has it: it was drawn
// before, for answers run on goroutines of their own.
type plan struct {
	how    string // move, gather or refuse
	area   int
	after  time.Duration
	fault  int64
	chosen string // who of a counted cohort; "-": everybody
}

func (p plan) label() string {
	return fmt.Sprintf("%s %d %d %d %s", p.how, p.area, p.after, p.fault, p.chosen)
}

// pause waits, and reports whether the request is still to be answered. Nothing is waited
// for without a timer: one that is due at once runs on the goroutine that looks at it, and
// the race detector of Go 1.26 crashes where two of one bubble do so at the same time.
func (p *node) pause(d time.Duration, r *transfer.Request) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Withdrawn():
	case <-p.dead:
	}
	return false
}

// answer does what the label of a request asks for.
func (p *node) answer(r *transfer.Request) {
	var l plan
	if _, err := fmt.Sscanf(r.Label(), "%s %d %d %d %s", &l.how, &l.area, &l.after, &l.fault, &l.chosen); err != nil {
		p.net.wrong(p, "label %q: %v", r.Label(), err)
		return
	}
	p.net.waiters.Go(func() {
		if l.chosen != "-" && l.chosen != p.name {
			return // a candidate that is not chosen says nothing, and never begins
		}
		if !p.pause(l.after, r) {
			return
		}
		switch {
		case l.how == "gather" && r.Direction() == backend.Write:
			p.gather(r, p.areas[l.area], l.fault)
			return
		case l.how != "refuse":
			p.move(r, p.areas[l.area])
			return
		}
		_ = r.Refuse("the plan says so") // of an endpoint that may be halted
	})
}

// blocksOf are those of a request's length, nil for all of an area.
func blocksOf(r *transfer.Request) []transfer.Block {
	if r.Len() == regionLen {
		return nil
	}
	return []transfer.Block{{Len: r.Len()}}
}

func (p *node) move(r *transfer.Request, a *area) {
	sends := r.Direction() == backend.Write
	region := p.take(a, sends)
	if region == nil {
		_ = r.Refuse("no memory")
		return
	}
	piece := &heldPiece{name: r.Piece(), area: a, region: region, asked: true}
	source := key(r.Session(), r.Piece(), p.name)
	var s *transfer.Session
	var err error
	if sends {
		p.net.source(source, a.content()[:r.Len()])
		s, err = r.Send(transfer.SendSpec{Region: region, Blocks: blocksOf(r)})
	} else {
		piece.parts = []portion{{source, 0, int(r.Len())}}
		s, err = r.Fetch(transfer.FetchSpec{Region: region, Blocks: blocksOf(r)})
	}
	p.answered(r, s, piece, !sends, err)
}

func (p *node) answered(r *transfer.Request, s *transfer.Session, piece *heldPiece, writes bool, err error) {
	if err != nil {
		p.back(piece.area, piece.region, false, fmt.Sprintf("answer to %v:%s: %v", r.Session(), r.Piece(), err))
		_ = r.Refuse(err.Error())
		return
	}
	p.net.hold(&held{Session: s, node: p, pieces: []*heldPiece{piece}, writes: writes})
}

// gather sends what an own copy has to bring into the region first, which has it
// alone meanwhile.
func (p *node) gather(r *transfer.Request, a *area, fault int64) {
	n := p.net
	region := p.take(a, false)
	if region == nil {
		_ = r.Refuse("no memory")
		return
	}
	n.mu.Lock()
	content := fresh(n.number+7, false)
	a.aside.fill(content)
	n.mu.Unlock()
	n.source(key(r.Session(), r.Piece(), p.name), content[:r.Len()])
	s, err := r.Send(transfer.SendSpec{Region: region, Blocks: blocksOf(r), Gather: p.local(a.aside, a.span, fault)})
	p.answered(r, s, &heldPiece{name: r.Piece(), area: a, region: region, asked: true}, false, err)
}

// local is an own copy that is lost after so many bytes; with 0 it runs through.
// What it had read goes on being written for a while.
func (p *node) local(from, to span, fault int64) backend.Local {
	l, err := p.net.fabric.Local(from.segments(), to.segments())
	if err == nil && fault > 0 {
		err = l.Inject(loop.Fault{Status: backend.Lost, After: fault, Late: loop.Rest, Delay: 3})
	}
	if err != nil {
		p.net.wrong(p, "local copy: %v", err)
		return nil
	}
	return l
}
