// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/gen/verdict"
)

// owner is one piece: its claims, gate and outcome (contract §4). Bare: core
// serialises.
type owner struct {
	session *session
	name    string
	kind    string
	region  *region
	first   uint64
	claims  []claimed // the cohort's, then the local one
	remote  *[]uint64 // send side: the peers' own sequences, one a cohort claim
	slot    int32     // in region.owners
	need    uint8     // accessors that must count: the cohort's size, or N of a counted one

	gate     gate.State
	outcome  outcome.State
	counted  bool // cohort is N of a candidate superset
	selected bool // N candidates counted; final
	hasLocal bool
	invalid  bool
	touched  bool
	settled  bool // as of the last flush

	count [claimStates]uint8 // claims in each state
}

// claimed is one claim. Its sequence is the owner's first plus its index.
type claimed struct {
	since   time.Duration
	member  uint16 // index in session.members
	state   claim.State
	verdict verdict.State
	phase   operation.Phase // send side: how far the own operation came
	by      claim.Event     // that led to state
	fenced  bool
}

const (
	claimStates = int(claim.Drained) + 1
	inDoubt     = int(claim.InDoubt)
)

// cohort returns the claims of the cohort, without the local one.
func (o *owner) cohort() []claimed { return o.claims[:o.size()] }

// size returns the number of accessors in the cohort.
func (o *owner) size() int {
	if o.hasLocal {
		return len(o.claims) - 1
	}
	return len(o.claims)
}

// localClaim returns the claim of the own scatter or gather, nil without one.
func (o *owner) localClaim() *claimed {
	if !o.hasLocal {
		return nil
	}
	return &o.claims[len(o.claims)-1]
}

func (o *owner) member(i int) *member { return &o.session.members[o.claims[i].member] }

func (o *owner) live() int { return int(o.count[claim.Published]) + int(o.count[claim.InDoubt]) }

// isSettled reports whether nothing of the owner waits for proof (contract §6).
func (o *owner) isSettled() bool {
	return !o.invalid && o.live() == 0 && o.count[claim.Unpublished] == 0 && o.gate.Shut()
}

func (o *owner) pieceName() PieceName { return PieceName{o.session.name, o.name} }

// claimName returns the whole name of claim i.
func (o *owner) claimName(own Incarnation, i int) ClaimName {
	p := o.member(i).peer
	return ClaimName{own, o.pieceName(), p.accessor, p.incarnation, o.first + uint64(i)}
}

// find returns the index of the accessor's claim, -1 outside of the cohort.
func (o *owner) find(a Accessor) int {
	for i := range o.cohort() {
		if o.member(i).peer.accessor == a {
			return i
		}
	}
	if a == Local && o.hasLocal {
		return o.size()
	}
	return -1
}

// counts reports whether the accessor's result counts: its claim is DRAINED, or
// FAILED_QUIESCED by late proof; never by an acknowledgement or a fence.
func (cl *claimed) counts() bool {
	return cl.state == claim.Drained || cl.state == claim.FailedQuiesced && cl.by == claim.Settle
}

// delivered reports whether the claim is complete positive evidence.
func (cl *claimed) delivered() bool { return cl.state == claim.Drained && cl.verdict == verdict.OK }

// canDeliver reports whether the claim is, or may still become, delivered.
func (cl *claimed) canDeliver() bool {
	return cl.delivered() || cl.state == claim.Unpublished || cl.state == claim.Published
}
