// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"

	"github.com/kvxfer/kvxfer/ownership"
)

// fanOut sends the requests of pieces whose claims are PUBLISHED.
type fanOut struct {
	session *Session
	pieces  []asking
	claims  [][]ownership.ClaimName
	// totals are the pieces of the session that name each peer; none while it is open.
	totals map[ownership.Accessor]uint32
	last   bool // no more pieces come
}

func (f *fanOut) names() []ownership.PieceName {
	list := make([]ownership.PieceName, len(f.pieces))
	for i := range f.pieces {
		list[i] = f.pieces[i].piece
	}
	return list
}

// run sends all requests at once, and tells the registry which of them may have
// left. No lock is held, and a peer that reads slowly delays neither the others
// nor any report.
func (f *fanOut) run(ctx context.Context) {
	s := f.session
	e := s.endpoint
	sent := make([][]*publication, len(f.pieces))
	for i, a := range f.pieces {
		for k, t := range a.targets {
			m := t.request(s.direction, a.spec.Label, wireClaim(f.claims[i][k]))
			m.Pieces = f.totals[t.member.Accessor]
			sent[i] = append(sent[i], t.peer.publish(t.member, m))
		}
	}
	for i, a := range f.pieces {
		published := map[ownership.Accessor]bool{}
		for k, pub := range sent[i] {
			if f.left(ctx, pub) {
				published[a.targets[k].member.Accessor] = true
			}
		}
		if len(published) == len(a.targets) {
			e.finish(s, a.piece)
		} else if err := e.failSend(a.piece, published); err != nil {
			e.config.Log.Error("fan-out ended early", "piece", a.piece, "error", err)
		}
	}
	if f.last && s.enter() == nil { // not between another call's reservation of a piece and its seal
		defer s.leave()
		if err := s.complete(); err != nil {
			e.config.Log.Error("complete", "session", s.name, "error", err)
		}
	}
}

// left waits for one request, and reports whether it may have left.
func (f *fanOut) left(ctx context.Context, pub *publication) bool {
	select {
	case <-pub.done:
	case <-ctx.Done():
		pub.withdraw()
	case <-f.session.done: // ended meanwhile: what has not left shall not
		pub.withdraw()
	case <-f.session.endpoint.ctx.Done():
		pub.withdraw()
	}
	return pub.state.Load() != withdrawn
}

// giveUp releases the scatters of pieces that were withdrawn: they never began.
func (f *fanOut) giveUp() {
	for i, a := range f.pieces {
		if a.spec.Scatter != nil {
			f.session.endpoint.releaseLocal(&job{claim: f.claims[i][len(f.claims[i])-1], local: a.spec.Scatter})
		}
	}
}
