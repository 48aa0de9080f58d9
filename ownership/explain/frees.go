// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// nothing is what frees memory under FATAL (contract §6).
const nothing = "nothing any more, since late proof is only recorded after FATAL"

// frees says what proof would free a claim, after the tables of contract §2 and
// what §3 calls stale.
func frees(side ownership.Side, p *ownership.PieceState, c *ownership.ClaimState) string {
	switch {
	case c.Name.Accessor == ownership.Local:
		return freesLocal(side, c.State)
	case c.State == claim.Unpublished:
		return "nothing is at risk; cancel or fail the session and it is withdrawn"
	case side == ownership.Send:
		return freesOperation(c)
	}
	return freesPeer(p, c)
}

// freesPeer is for memory of ours that a peer reaches by itself.
func freesPeer(p *ownership.PieceState, c *ownership.ClaimState) string {
	const fence = "a fence that reaches our memory (passive)"
	switch {
	case c.Gone:
		return "only " + fence + ": its incarnation is gone, so its reports are stale"
	case c.State == claim.InDoubt:
		return "its late report that this very operation has ended (failed_quiesced), or " + fence + "; an acknowledgement of the session does not"
	}
	words := "its result for this operation; once the session has failed or was cancelled, its acknowledgement that it holds nothing (SESSION_QUIESCED); "
	if p.Count > 0 && !p.Selected {
		words += "the selection of others, who then are the only ones to write; "
	}
	return words + "or " + fence
}

// freesOperation is for an operation of our own.
func freesOperation(c *ownership.ClaimState) string {
	const fence = "a fence of what we posted (own)"
	switch {
	case c.State == claim.InDoubt && c.Operation == operation.PhaseDropped:
		return "only the target's word that this very operation ended (confirmed), or " + fence + ": the operation is no longer retained"
	case c.State == claim.InDoubt:
		return "the late end of this very operation, which is retained and polled; the target's word that it ended (confirmed); or " + fence
	case c.Operation == operation.PhaseIdle:
		return "the operation was not submitted yet: its end, proof that it never will be submitted, or " + fence
	}
	return "the end of this very operation as the backend reports it, proof that it was never submitted, or " + fence
}

// freesLocal is for our own scatter or gather.
func freesLocal(side ownership.Side, s claim.State) string {
	switch s {
	case claim.Unpublished:
		return "nothing is at risk; it is withdrawn when the piece fails or is cancelled"
	case claim.InDoubt:
		return "the late end of this very " + localWork(side) + ", or a fence of local"
	}
	return "its end, or a fence of local"
}
