// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/proptest/model"
)

var (
	peers   = rapid.SampledFrom([]string{"a", "b", "c"})
	number  = rapid.IntRange(1, 4)
	attempt = rapid.IntRange(1, 3)
	region  = rapid.SampledFrom([]string{"A", "B", "C", "D", "E"})
	access  = rapid.SampledFrom([]string{"writes", "reads"})
	pieceNo = rapid.IntRange(0, 2)
	bound   = rapid.SampledFrom([]int{0, 0, 1, 2, 3})
	// Requests of endpoint a are its own: a fence of it is the end of them.
	creator = rapid.SampledFrom([]string{"r", "r", "r", "a"})
	pause   = rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, time.Second / 2})
)

// house is a registry with many sessions.
type house struct{ *world }

// checkRegistry is the life of a registry with many sessions.
func checkRegistry(t *rapid.T) { liveRegistry(t) }

func liveRegistry(t *rapid.T) *house {
	h := &house{newWorld(t, "registry", model.Config{
		Quarantine: quarantine.Draw(t, "quarantine"), Owners: bound.Draw(t, "owners"), Sessions: bound.Draw(t, "sessions"),
		Tombstones: bound.Draw(t, "tombstones"), Requests: bound.Draw(t, "requests"), Outbox: 2 * bound.Draw(t, "outbox"),
		PeerTombstones: bound.Draw(t, "share of the tombstones"), PeerRequests: bound.Draw(t, "share of the requests"), PeerOutbox: 2 * bound.Draw(t, "share of the outbox"),
	})}
	h.checker = new(ownership.Checker)
	pins := newPins(t)
	t.Repeat(map[string]func(*rapid.T){
		"admit":     func(t *rapid.T) { h.admit(h.any(t), side.Draw(t, "side")) },
		"open":      h.open,
		"add":       func(t *rapid.T) { h.addTo(t, h.some(t)) },
		"progress":  func(t *rapid.T) { h.progress(t, h.somePiece(t)) },
		"progress2": func(t *rapid.T) { h.progress(t, h.somePiece(t)) },
		"progress3": func(t *rapid.T) { h.progress(t, h.somePiece(t)) },
		"evidence":  func(t *rapid.T) { h.evidence(t, h.somePiece(t)) },
		"end":       func(t *rapid.T) { h.end(t, h.some(t)) },
		"close":     func(t *rapid.T) { h.close(h.some(t)) },
		"peer":      h.peer,
		"cancel":    h.cancelAny,
		"request":   func(t *rapid.T) { h.request(h.any(t), peers.Draw(t, "from")) },
		"time":      h.time,
		"deliver":   func(t *rapid.T) { h.deliver(peers.Draw(t, "to")) },
		"memory":    h.memory,
		"operator":  h.operator,
		"pins":      pins.step,
	})
	return h
}

// any is an attempt that may exist or not.
func (h *house) any(t *rapid.T) model.Name {
	return model.Name{Request: model.Request{Endpoint: creator.Draw(t, "creator"), Number: number.Draw(t, "request")}, Attempt: attempt.Draw(t, "attempt")}
}

// some is an attempt that is owned, where there is one.
func (h *house) some(t *rapid.T) model.Name {
	if n := len(h.model.Sessions); n > 0 && !roll(t, "any session") {
		return h.model.Sessions[rapid.IntRange(0, n-1).Draw(t, "session")].Name
	}
	return h.any(t)
}

// somePiece is one of all that ever were, an owned one where there is one.
func (h *house) somePiece(t *rapid.T) model.PieceName {
	var owned []model.PieceName
	for _, s := range h.model.Sessions {
		for _, p := range s.Pieces {
			owned = append(owned, p.Name)
		}
	}
	if len(owned) == 0 || roll(t, "any piece") {
		owned = h.pieces
	}
	if len(owned) == 0 {
		return h.pieceOf(h.any(t), 0)
	}
	return owned[rapid.IntRange(0, len(owned)-1).Draw(t, "piece")]
}

// pieceOf: a piece id belongs to one request, and comes back in each attempt.
func (h *house) pieceOf(n model.Name, i int) model.PieceName {
	return model.PieceName{Session: n, Piece: fmt.Sprintf("%s%dp%d", n.Request.Endpoint, n.Request.Number, i)}
}

// open admits a session with a piece and publishes it: an ordinary beginning.
func (h *house) open(t *rapid.T) {
	n := h.any(t)
	h.admit(n, side.Draw(t, "side"))
	p := h.addTo(t, n)
	h.progress(t, p)
	h.progress(t, p)
}

func (h *house) addTo(t *rapid.T, n model.Name) model.PieceName {
	s := h.model.Find(n)
	spec := model.PieceSpec{Name: h.pieceOf(n, pieceNo.Draw(t, "number")), Region: region.Draw(t, "region"), Local: roll(t, "local")}
	for _, a := range rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "order")[:rapid.IntRange(1, 3).Draw(t, "size")] {
		spec.Cohort = append(spec.Cohort, h.member(a))
	}
	if dice.Draw(t, "access") > 8 {
		spec.Access = access.Draw(t, "which access")
	}
	if roll(t, "malformed") {
		spec.Cohort = append(spec.Cohort, spec.Cohort[0])
	}
	if (s == nil || s.Side == "receive" || roll(t, "count on the send side")) && flip.Draw(t, "counted") {
		spec.Count = rapid.IntRange(1, 3).Draw(t, "count")
	}
	h.add(spec)
	return spec.Name
}

// progress makes the next orderly step of a piece.
func (h *house) progress(t *rapid.T, n model.PieceName) {
	s, p := h.model.Piece(n)
	switch {
	case !h.script.pieces[n.Piece]:
		h.addTo(t, n.Session) // a file has no name for it yet
	case p == nil:
		h.gate("seal", n)
	case p.Local != nil && p.Local.State == "UNPUBLISHED" && (s.Side == "send" || p.Gate == "SEALED"):
		h.local(n, "start")
	case p.Local != nil && p.Local.State == "PUBLISHED":
		h.local(n, "done")
	case p.Gate == "OPEN":
		h.gate("seal", h.siblings(t, s, p)...)
	case p.Gate == "PUBLISHING":
		h.gate("sent", n)
	case p.Outcome == "SUCCEEDED" && s.Outcome == "ACTIVE":
		h.complete(n.Session)
	case s.Settled():
		h.close(n.Session)
	default:
		h.deliverResult(t, s, p)
	}
}

// siblings are pieces to be reserved in one call.
func (h *house) siblings(t *rapid.T, s *model.Session, p *model.Piece) []model.PieceName {
	out := []model.PieceName{p.Name}
	if flip.Draw(t, "together") {
		return out
	}
	for _, o := range s.Pieces {
		if o != p && o.Gate == "OPEN" {
			out = append(out, o.Name)
		}
	}
	return out
}

// deliverResult lets a live claim end well: delivered, or proven.
func (h *house) deliverResult(t *rapid.T, s *model.Session, p *model.Piece) {
	for _, c := range p.Claims {
		if !model.Live(c.State) || c.Fenced {
			continue
		}
		switch {
		case s.Side == "receive" && c.State == "PUBLISHED":
			h.report(p.Name, c.Of.Accessor, "ok", "")
		case s.Side == "receive":
			h.report(p.Name, c.Of.Accessor, "failed_quiesced", "")
		case c.State == "PUBLISHED" && !c.Operation.Submitting:
			h.operation(p.Name, c.Of.Accessor, "submitting")
		default:
			h.operation(p.Name, c.Of.Accessor, "done")
		}
		return
	}
	h.evidence(t, p.Name)
}

// evidence is anything that can be said of a piece.
func (h *house) evidence(t *rapid.T, n model.PieceName) {
	a := peers.Draw(t, "from")
	s := h.model.Find(n.Session)
	if len(h.claims[n]) == 0 {
		return // never admitted: a file has no name for its claims
	}
	switch dice.Draw(t, "evidence") {
	case 0:
		h.local(n, localEvent.Draw(t, "event"))
	case 1:
		h.ack(n.Session, a)
	case 2:
		h.failSend(n, h.accessorsOf(n)[:rapid.IntRange(0, len(h.accessorsOf(n))).Draw(t, "published")])
	case 3:
		h.report(n, a, evidences.Draw(t, "result"), "stale")
	case 4:
		h.report(n, a, evidences.Draw(t, "result"), "old")
	default:
		if inside := h.accessorsOf(n); !roll(t, "outsider") {
			a = rapid.SampledFrom(inside).Draw(t, "from inside")
		}
		if s != nil && s.Side == "send" != roll(t, "wrong side") {
			h.operation(n, a, status.Draw(t, "status"))
		} else {
			h.report(n, a, evidences.Draw(t, "result"), "")
		}
	}
}

func (h *house) end(t *rapid.T, n model.Name) {
	switch dice.Draw(t, "end") {
	case 0, 1, 2:
		h.cancel(n, origin.Draw(t, "origin"), "")
	case 3, 4, 5:
		h.cancel(n, "peer", peers.Draw(t, "from"))
	case 6:
		h.failed(n, "reason")
	case 7:
		if p := h.somePiece(t); h.script.pieces[p.Piece] {
			h.failPiece(p, "reason")
		}
	default:
		h.complete(n)
	}
}

// cancelAny may come before its session.
func (h *house) cancelAny(t *rapid.T) {
	n := h.any(t)
	switch dice.Draw(t, "how") {
	case 0, 1:
		n.Attempt = 0
		h.cancel(n, "local", "")
	case 2, 3, 4, 5:
		h.cancel(n, origin.Draw(t, "origin"), "")
	default:
		h.cancel(n, "peer", peers.Draw(t, "from"))
	}
}

func (h *house) peer(t *rapid.T) {
	a := peers.Draw(t, "accessor")
	switch dice.Draw(t, "peer") {
	case 0, 1, 2:
		h.fence(a, scope.Draw(t, "scope"))
	case 3:
		h.fence(model.Local, scope.Draw(t, "scope"))
	case 4:
		h.gone(a)
	default:
		h.deliver(a)
	}
}

func (h *house) memory(t *rapid.T) {
	id := region.Draw(t, "region")
	switch dice.Draw(t, "memory") {
	case 0:
		h.tear(id, false)
	case 1:
		h.tear(id, true)
	case 2, 3, 4:
		h.register(id)
	default:
		h.reuse(id)
	}
}

func (h *house) operator(t *rapid.T) {
	switch dice.Draw(t, "operator") {
	case 0:
		if roll(t, "stop") {
			h.stop()
		}
	case 1:
		h.watermark(model.Request{Endpoint: creator.Draw(t, "creator"), Number: number.Draw(t, "below")})
	default:
		h.reopen()
	}
}

func TestRegistry(t *testing.T) { rapid.Check(t, checkRegistry) }
