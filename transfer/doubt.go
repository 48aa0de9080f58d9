// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// decide runs f while no incarnation is declared gone. What f learns of who is
// in doubt, and is about to rely on, stays true until it returns. After FATAL
// nothing depends on it, and nobody waits for a containment that hangs inside.
func (e *Endpoint) decide(f func()) {
	select {
	case e.deciding <- struct{}{}:
		defer func() { <-e.deciding }()
	case <-e.fatal:
	}
	f()
}

// gone is doubt about whatever an incarnation may still touch.
func (e *Endpoint) gone(a ownership.Accessor, life ownership.Incarnation) (err error) {
	e.decide(func() {
		var effects ownership.Effects
		effects, err = e.registry.Gone(e.now(), a, life)
		e.apply(effects)
	})
	return err
}

// neverSubmitted says that an operation did not start and never will. The peer's
// incarnation may have gone between the seal and this answer: of a claim in
// doubt the rules take no such word (contract section 2, unexposed), and what
// they do not take would be a contradiction. Then nothing is said.
func (e *Endpoint) neverSubmitted(j *job, at time.Duration) {
	e.decide(func() {
		if e.claimState(j.claim) == claim.InDoubt {
			e.noteAt(at, j.session, "operation "+j.claim.String()+": not submitted, but its peer is gone: it stays in doubt until a fence ends that")
			return
		}
		_ = e.offer(j, at, operation.StatusNotSubmitted)
	})
}

// claimState returns the state of a claim, 0 where it is not owned.
func (e *Endpoint) claimState(name ownership.ClaimName) claim.State {
	session, _ := e.registry.Session(name.Piece.Session)
	for _, p := range session.Pieces {
		for _, c := range p.Claims {
			if c.Name == name {
				return c.State
			}
		}
	}
	return 0
}

// failSend says that a fan-out ended early. The requests to the others provably
// never left; but a peer of which something was heard, or that is in doubt since
// it went away meanwhile, is not for us to excuse: it counts as one that may
// know of the memory, and needs proof like those.
func (e *Endpoint) failSend(piece ownership.PieceName, published map[ownership.Accessor]bool) (err error) {
	e.decide(func() {
		var list []ownership.Accessor
		session, _ := e.registry.Session(piece.Session)
		for _, p := range session.Pieces {
			if p.Name != piece {
				continue
			}
			for _, c := range p.Claims {
				if published[c.Name.Accessor] || c.State != claim.Published {
					list = append(list, c.Name.Accessor)
				}
			}
		}
		var effects ownership.Effects
		effects, err = e.registry.FailSend(e.now(), piece, list)
		e.apply(effects)
	})
	return err
}
