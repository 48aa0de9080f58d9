// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// RegionSpec describes memory that pieces may use. A region is the unit of
// reuse: it is held whole.
type RegionSpec struct {
	ID string
	// Addr is where the memory begins. Two regions that overlap are refused, for
	// each would answer for the bytes of the other. 0: the caller vouches that
	// no other region has any of it.
	Addr uint64
	Len  uint64 // bytes
}

// SessionSpec describes a session to admit.
type SessionSpec struct {
	Name SessionName
	Side Side
	// RequestTimeout and Grace replace the registry's for this session; 0 keeps them.
	RequestTimeout, Grace time.Duration
}

// PieceSpec describes a piece to add to a session.
type PieceSpec struct {
	Name   PieceName
	Region string
	// Cohort are the accessors of an exact cohort, or the candidates of a counted
	// one; 1 to MaxAccessors, each once, none of them Local.
	Cohort []Member
	// Count, when > 0, makes the cohort a counted one: exactly Count of the
	// candidates will write. Receive side only.
	Count int
	// Local adds a claim of the own scatter (receive) or gather (send).
	Local bool
	// Access is what happens to the region's memory. Zero: what a WRITE does to it,
	// which is Writes on the receive side and Reads on the send side. With a READ
	// it is the other way round; a gather into the region is Writes.
	Access Access
	// Kind is a label such as "kv" or "aux"; the core attaches no meaning to it.
	Kind string
}

// OperationReport is what the own backend, or the runtime around it, says about
// the operation of one claim. Send side only.
type OperationReport struct {
	Claim  ClaimName
	Status operation.Status
}

// PeerReport is a RESULT of a peer. Receive side only.
type PeerReport struct {
	Claim ClaimName
	// From is the accessor that the stream authenticated. A report whose Claim
	// names another is dropped and counted before it is evidence (contract §8).
	From     Accessor
	Evidence Evidence
}

// CancelSpec asks to cancel a session, whether it exists yet or not.
type CancelSpec struct {
	// Session names the attempt. Attempt 0 is for local callers: the newest
	// admitted one, or 1.
	Session SessionName
	// Origin is FromLocal (also when 0) or FromPeer.
	Origin Origin
	// From is the peer that asked, with Origin FromPeer; it may be zero where
	// nobody is to be answered.
	From Member
	// FromSide is the side that the peer's message gives. Only a receiver is
	// answered. 0 means the other side of the session, or Receive where the
	// session is not known.
	FromSide Side
	// Refused is, with Origin FromLocal, the peer whose request this refuses: a
	// tombstone is in its share, as it is for its own cancels. Empty: in nobody's.
	Refused Accessor
}

// CancelResult is the answer to a cancel: the logical and the physical state.
type CancelResult struct {
	// Session is the attempt that was meant.
	Session SessionName
	// Outcome is 0 for an attempt that was never admitted and never will be.
	Outcome  outcome.State
	Cause    Cause
	Origin   Origin
	Physical Physical
}

// FenceSpec is outside proof that an accessor can no longer reach memory, of a
// kind that the backend's fence table lists (contract §2).
type FenceSpec struct {
	Accessor Accessor
	// Incarnation is the life that was fenced; zero means all that are known.
	Incarnation Incarnation
	Scope       Scope
}
