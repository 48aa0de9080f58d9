// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/send"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// owner is one piece: its claims, gate and outcome (contract §4), which are the
// state of a generated system. Beside it stand names, where the memory is, and
// when something was last heard. Bare: core serialises. There may be a million:
// its size matters.
type owner struct {
	session *session
	shape   *shape
	region  *region
	first   uint64
	heard   heard // of the cohort's claims, then of the local one

	receive *receive.System // one of the two decides
	send    *sender

	place   int32 // in cohort.owners
	touched bool
	settled bool // as of the last flush
}

// receiver and sender are an owner in one piece of memory with its system.
type (
	receiver struct {
		owner
		rules receive.System
	}
	sender struct {
		owner
		rules  send.System
		remote []uint64 // the peers' own sequences, one a cohort claim
	}
)

// newOwner returns the owner of a piece that was found valid.
func newOwner(side Side, spec *PieceSpec) *owner {
	n := len(spec.Cohort)
	if side == Send {
		rules, _ := send.New(n, spec.Local)
		o := &sender{rules: rules, remote: make([]uint64, n)}
		for i, m := range spec.Cohort {
			o.remote[i] = m.Sequence
		}
		o.send = o
		return &o.owner
	}
	need := n
	if spec.Count > 0 {
		need = spec.Count
	}
	rules, _ := receive.New(n, need, spec.Local)
	o := &receiver{rules: rules}
	o.receive = &o.rules
	return &o.owner
}

// size returns the number of accessors in the cohort.
func (o *owner) size() int { return o.shape.cohort.size() }

// total returns the number of claims, the local one included.
func (o *owner) total() int { return len(o.shape.cohort.peers) }

func (o *owner) hasLocal() bool { return o.shape.cohort.local }

// peer returns who may touch the memory by claim i.
func (o *owner) peer(i int) *peer { return o.shape.cohort.peers[i] }

// accessors returns the peers of the cohort, without the own one.
func (o *owner) accessors() []*peer { return o.shape.cohort.peers[:o.size()] }

func (o *owner) name() PieceName { return PieceName{o.session.name(), o.shape.name} }

// claimName returns the whole name of claim i.
func (o *owner) claimName(i int) ClaimName {
	p := o.peer(i)
	return ClaimName{p.self, o.name(), p.accessor, p.incarnation, o.first + uint64(i)}
}

// claimNames returns those of all its claims.
func (o *owner) claimNames() []ClaimName {
	piece := o.name()
	names := make([]ClaimName, o.total())
	for i, p := range o.shape.cohort.peers {
		n := &names[i]
		n.Owner, n.Piece, n.Accessor, n.Incarnation, n.Sequence = p.self, piece, p.accessor, p.incarnation, o.first+uint64(i)
	}
	return names
}

// find returns the index of the accessor's claim, -1 outside of the cohort.
func (o *owner) find(a Accessor) int {
	return slices.IndexFunc(o.shape.cohort.peers, func(p *peer) bool { return p.accessor == a })
}

// What follows reads the system, whichever of the two it is.

func (o *owner) gate() gate.State {
	if o.receive != nil {
		return o.receive.Gate()
	}
	return o.send.rules.Gate()
}

func (o *owner) outcome() outcome.State {
	if o.receive != nil {
		return o.receive.Outcome()
	}
	return o.send.rules.Outcome()
}

func (o *owner) invalid() bool {
	if o.receive != nil {
		return o.receive.Invalid()
	}
	return o.send.rules.Invalid()
}

// isSettled reports whether nothing of the owner waits for proof (contract §6).
func (o *owner) isSettled() bool {
	if o.receive != nil {
		return o.receive.Settled()
	}
	return o.send.rules.Settled()
}

// inDoubt reports whether the owner is invalid or a claim of it IN_DOUBT (contract §7).
func (o *owner) inDoubt() bool {
	if o.receive != nil {
		return o.receive.Doubtful()
	}
	return o.send.rules.Doubtful()
}

// state returns the state of claim i, the local one included.
func (o *owner) state(i int) claim.State {
	switch local := i == o.size(); {
	case local && o.receive != nil:
		return o.receive.Local()
	case local:
		return o.send.rules.Local()
	case o.receive != nil:
		return o.receive.Claims(i)
	}
	return o.send.rules.Claims(i)
}

// fenced reports whether a fence ended the name of claim i.
func (o *owner) fenced(i int) bool {
	switch local := i == o.size(); {
	case local && o.receive != nil:
		return o.receive.LocalFenced()
	case local:
		return o.send.rules.LocalFenced()
	case o.receive != nil:
		return o.receive.Fenced(i)
	}
	return o.send.rules.Fenced(i)
}

// verdict returns what was said about delivery; the end of a scatter or gather is one.
func (o *owner) verdict(i int) verdict.State {
	switch {
	case i == o.size() && o.state(i) == claim.Drained:
		return verdict.OK
	case i == o.size():
		return verdict.None
	case o.receive != nil:
		return o.receive.Verdicts(i)
	}
	return o.send.rules.Verdicts(i)
}

// counts reports whether the accessor's result counts: its claim is DRAINED, or
// FAILED_QUIESCED by late proof; never by an acknowledgement or a fence.
func (o *owner) counts(i int) bool {
	st := o.state(i)
	return st == claim.Drained || st == claim.FailedQuiesced && o.heard.by(i) == claim.Settle
}

// phase returns how far the own operation of claim i came, 0 where there is none.
func (o *owner) phase(i int) operation.Phase {
	if o.send == nil || i == o.size() {
		return 0
	}
	return o.send.rules.Phases(i)
}

// selected reports whether N candidates of a counted cohort counted once: final.
func (o *owner) selected() bool { return o.shape.counted && o.receive.Selected() }
