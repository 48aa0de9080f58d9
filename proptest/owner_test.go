// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/proptest/model"
)

var letters = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}

// Generators are made once: making one costs more than drawing from it.
var (
	evidences  = rapid.SampledFrom([]string{"ok", "failed", "in_doubt", "failed_quiesced"})
	status     = rapid.SampledFrom(model.Statuses)
	localEvent = rapid.SampledFrom([]string{"start", "done", "doubt"})
	scope      = rapid.SampledFrom([]string{"own", "passive", "all"})
	origin     = rapid.SampledFrom([]string{"local", "peer"})
	side       = rapid.SampledFrom([]string{"receive", "send"})
	quarantine = rapid.SampledFrom([]string{"endpoint", "accessor", "off"})
	offset     = rapid.SampledFrom([]time.Duration{-1, 0, 1})
	dice       = rapid.IntRange(0, 11)
	flip       = rapid.Bool()
	size       = rapid.IntRange(1, 8)
)

// roll is true once in twelve times, and shrinks to false.
func roll(t *rapid.T, what string) bool { return dice.Draw(t, what) == 11 }

// owner is one piece on one side with 1 to 8 accessors, and everything that can
// be said about it.
type owner struct {
	*world
	session model.Name
	piece   model.PieceName
	cohort  []string
	anybody *rapid.Generator[string] // of the cohort
	spec    model.PieceSpec
}

func newOwner(t *rapid.T) *owner {
	o := &owner{world: newWorld(t, "owner", model.Config{Quarantine: "off"})}
	o.session = model.Name{Request: model.Request{Endpoint: "r", Number: 1}, Attempt: 1}
	o.piece = model.PieceName{Session: o.session, Piece: "r1p0"}
	o.cohort = letters[:size.Draw(t, "accessors")]
	o.anybody = rapid.SampledFrom(o.cohort)
	s := side.Draw(t, "side")
	o.spec = model.PieceSpec{Name: o.piece, Region: "A", Local: flip.Draw(t, "local")}
	for _, a := range o.cohort {
		o.spec.Cohort = append(o.spec.Cohort, o.member(a))
	}
	if s == "receive" && flip.Draw(t, "counted") {
		o.spec.Count = rapid.IntRange(1, len(o.cohort)).Draw(t, "count")
	}
	o.admit(o.session, s)
	o.add(o.spec)
	return o
}

// checkOwner is the life of one owner, orderly or not.
func checkOwner(t *rapid.T) { liveOwner(t) }

func liveOwner(t *rapid.T) *owner {
	o := newOwner(t)
	if flip.Draw(t, "publish first") {
		o.publish()
	}
	t.Repeat(map[string]func(*rapid.T){
		"publish": func(*rapid.T) { o.gateStep() },
		"evidence": func(t *rapid.T) {
			o.evidence(t, o.anybody.Draw(t, "from"))
		},
		"evidence of all": func(t *rapid.T) {
			for _, a := range rapid.Permutation(o.cohort).Draw(t, "order") {
				o.evidence(t, a)
			}
		},
		"twice": func(t *rapid.T) {
			a, e := o.anybody.Draw(t, "from"), evidences.Draw(t, "evidence")
			o.report(o.piece, a, e, "")
			o.report(o.piece, a, e, "")
		},
		"local":    func(t *rapid.T) { o.local(o.piece, localEvent.Draw(t, "event")) },
		"oddity":   func(t *rapid.T) { o.oddity(t) },
		"complete": func(*rapid.T) { o.complete(o.session) },
		"time":     o.time,
		"end":      func(t *rapid.T) { o.end(t) },
		"orderly":  o.orderly,
		"ack":      func(t *rapid.T) { o.ack(o.session, o.anybody.Draw(t, "from")) },
		"peer":     func(t *rapid.T) { o.peerStep(t) },
	})
	return o
}

func (o *owner) sends() bool { s := o.model.Find(o.session); return s != nil && s.Side == "send" }

// publish does what an orderly caller does first.
func (o *owner) publish() {
	if o.sends() && o.spec.Local {
		o.local(o.piece, "start")
		o.local(o.piece, "done")
	}
	o.gateStep()
	o.gateStep()
}

// orderly lets everything that is left end well, as it does on most days.
func (o *owner) orderly(t *rapid.T) {
	_, p := o.model.Piece(o.piece)
	if p == nil || p.Gate == "OPEN" {
		o.gateStep()
		return
	}
	for _, c := range p.Claims {
		switch {
		case !model.Live(c.State) || c.Fenced:
		case o.sends():
			if c.State == "PUBLISHED" && !c.Operation.Submitting {
				o.operation(o.piece, c.Of.Accessor, "submitting")
			}
			o.operation(o.piece, c.Of.Accessor, "done")
		case c.State == "PUBLISHED":
			o.report(o.piece, c.Of.Accessor, "ok", "")
		default:
			o.report(o.piece, c.Of.Accessor, "failed_quiesced", "")
		}
	}
	if p.Local != nil && !o.sends() {
		o.local(o.piece, "start")
		o.local(o.piece, "done")
	}
}

// gateStep makes the next step of the gate, or one too many.
func (o *owner) gateStep() {
	if _, p := o.model.Piece(o.piece); p != nil && p.Gate == "PUBLISHING" {
		o.gate("sent", o.piece)
		return
	}
	o.gate("seal", o.piece)
}

// claim returns the state of an accessor's claim, "" where the piece is released.
func (o *owner) claim(a string) (string, *model.ClaimState) {
	_, p := o.model.Piece(o.piece)
	if p == nil {
		return "", nil
	}
	for _, c := range p.Claims {
		if c.Of.Accessor == a {
			return c.State, c
		}
	}
	return "", nil
}

// evidence is what an accessor says, or what our own backend says of it. Most
// of it contradicts nothing: conflicts end all that is interesting.
func (o *owner) evidence(t *rapid.T, a string) {
	state, _ := o.claim(a)
	if o.sends() {
		s := status.Draw(t, "status")
		_, c := o.claim(a)
		early := state == "UNPUBLISHED" || state == "SAFE_UNPUBLISHED" || state == "PUBLISHED" && !c.Operation.Submitting
		if early && !roll(t, "contradict") {
			s = "submitting"
		}
		o.operation(o.piece, a, s)
		return
	}
	e := evidences.Draw(t, "evidence")
	if _, result := model.Claim.Next(state, model.Evidence[e]); result == "conflict" && !roll(t, "contradict") {
		e = map[string]string{"PUBLISHED": "ok", "IN_DOUBT": "failed_quiesced"}[state]
	}
	if e != "" {
		o.report(o.piece, a, e, "")
	}
}

// oddity is evidence under a wrong name, of the wrong side, or of nobody.
func (o *owner) oddity(t *rapid.T) {
	a, e := o.anybody.Draw(t, "from"), evidences.Draw(t, "evidence")
	odd := dice.Draw(t, "oddity")
	if odd > 7 && !roll(t, "contradict") {
		odd = 0
	}
	switch odd {
	case 0, 1, 2:
		o.report(o.piece, a, e, "stale")
	case 3, 4:
		o.report(o.piece, a, e, "old")
	case 5:
		if !o.sends() {
			o.operation(o.piece, a, status.Draw(t, "status"))
		}
	case 6:
		if o.sends() {
			o.report(o.piece, a, e, "")
		}
	case 7:
		o.forged(o.piece, a, "i", e)
	case 8:
		o.report(o.piece, "i", e, "")
	case 9:
		o.operation(o.piece, "i", status.Draw(t, "status"))
	case 10:
		o.ack(o.session, "i")
	case 11:
		o.gate("sent", o.piece, o.piece)
	}
}

// end is what ends a session from outside of its evidence.
func (o *owner) end(t *rapid.T) {
	switch dice.Draw(t, "end") {
	case 0, 1, 2, 3:
		o.close(o.session)
	case 4:
		o.cancel(o.session, origin.Draw(t, "origin"), "")
	case 5:
		o.cancel(o.session, "peer", o.anybody.Draw(t, "from"))
	case 6:
		o.failed(o.session, "reason")
	case 7:
		o.failPiece(o.piece, "reason")
	case 8, 9:
		o.failSend(o.piece, o.cohort[:rapid.IntRange(0, len(o.cohort)).Draw(t, "published")])
	case 10:
		o.reuse("A")
	case 11:
		if roll(t, "stop") {
			o.stop()
		}
	}
}

// peerStep is what is known of an accessor as a whole.
func (o *owner) peerStep(t *rapid.T) {
	a := o.anybody.Draw(t, "accessor")
	switch dice.Draw(t, "peer") {
	case 0:
		o.fence(a, scope.Draw(t, "scope"))
	case 1:
		o.fence(model.Local, scope.Draw(t, "scope"))
	case 2:
		o.gone(a)
	case 3, 4:
		if o.sends() {
			o.request(o.session, a)
		}
	default:
		o.deliver(a)
	}
}

func TestOwner(t *testing.T) { rapid.Check(t, checkOwner) }
