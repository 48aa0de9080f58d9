// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

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
// when something was last heard. Bare: core serialises.
type owner struct {
	session *session
	name    string
	kind    string
	region  *region
	first   uint64
	claims  []claimed // the cohort's, then the local one

	receive *receive.System // one of the two decides
	send    *sender

	slot     int32 // in region.owners
	counted  bool  // cohort is N of a candidate superset
	hasLocal bool
	touched  bool
	settled  bool // as of the last flush
}

// claimed is what is kept of one claim for its readers. Its sequence is the
// owner's first plus its index.
type claimed struct {
	since  time.Duration
	member uint16      // index in session.members
	by     claim.Event // that led to its state
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
func newOwner(side Side, spec *PieceSpec) (*owner, error) {
	n := len(spec.Cohort)
	if side == Send {
		rules, err := send.New(n, spec.Local)
		if err != nil {
			return nil, err
		}
		o := &sender{rules: rules, remote: make([]uint64, n)}
		for i, m := range spec.Cohort {
			o.remote[i] = m.Sequence
		}
		o.send = o
		return &o.owner, nil
	}
	need := n
	if spec.Count > 0 {
		need = spec.Count
	}
	rules, err := receive.New(n, need, spec.Local)
	if err != nil {
		return nil, err
	}
	o := &receiver{rules: rules}
	o.receive = &o.rules
	return &o.owner, nil
}

// size returns the number of accessors in the cohort.
func (o *owner) size() int {
	if o.hasLocal {
		return len(o.claims) - 1
	}
	return len(o.claims)
}

func (o *owner) member(i int) *member { return &o.session.members[o.claims[i].member] }

func (o *owner) pieceName() PieceName { return PieceName{o.session.name, o.name} }

// claimName returns the whole name of claim i.
func (o *owner) claimName(own Incarnation, i int) ClaimName {
	p := o.member(i).peer
	return ClaimName{own, o.pieceName(), p.accessor, p.incarnation, o.first + uint64(i)}
}

// find returns the index of the accessor's claim, -1 outside of the cohort.
func (o *owner) find(a Accessor) int {
	for i := range o.size() {
		if o.member(i).peer.accessor == a {
			return i
		}
	}
	if a == Local && o.hasLocal {
		return o.size()
	}
	return -1
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
	if i < o.size() && o.receive != nil {
		return o.receive.Counts(i)
	}
	st := o.state(i)
	return st == claim.Drained || st == claim.FailedQuiesced && o.claims[i].by == claim.Settle
}

// phase returns how far the own operation of claim i came, 0 where there is none.
func (o *owner) phase(i int) operation.Phase {
	if o.send == nil || i == o.size() {
		return 0
	}
	return o.send.rules.Phases(i)
}

// selected reports whether N candidates of a counted cohort counted once: final.
func (o *owner) selected() bool { return o.counted && o.receive.Selected() }
