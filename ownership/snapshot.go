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

// Snapshot is everything that a registry owns, at one moment. It shares nothing
// with the registry.
type Snapshot struct {
	// At is the latest time that any call gave.
	At        time.Duration
	Admission Admission
	// Quarantine is how far a doubt closes admission, as configured; Doubted are the
	// accessors that it remembers, sorted.
	Quarantine Quarantine
	Doubted    []Accessor
	Fatal      bool
	// Containment and ContainErr are of the FATAL latch; nil and nil before it
	// and, for ContainErr, where the callback succeeded or has not returned yet.
	Containment *Containment
	ContainErr  error
	Sessions    []SessionState // owned ones, sorted by name
	Regions     []RegionState  // sorted by id
	Waiting     []Outgoing     // the outbox, sorted by accessor and then in order
	Counters    Counters
}

// SessionState is one session at one moment.
type SessionState struct {
	Name     SessionName
	Side     Side
	Outcome  outcome.State
	Cause    Cause
	Origin   Origin
	Physical Physical
	Complete bool // no more pieces come
	Settled  bool
	// Armed and Expires are of the request clock, once there was a publication.
	Armed   bool
	Expires time.Duration
	// Draining, DrainStart and Deadline are of the grace, once it has a start.
	Draining             bool
	DrainStart, Deadline time.Duration
	Pieces               []PieceState // in the order of AddPiece
}

// PieceState is one owner at one moment.
type PieceState struct {
	Name    PieceName
	Kind    string
	Region  string
	Gate    gate.State
	Outcome outcome.State
	Cause   Cause
	Origin  Origin
	Invalid bool
	Drained bool
	Count   int // 0 for an exact cohort
	// Selected says that Count candidates counted; it is final.
	Selected bool
	Claims   []ClaimState // in the order of the cohort
	Local    *ClaimState  // nil where the piece has no local claim
}

// ClaimState is one claim at one moment.
type ClaimState struct {
	Name    ClaimName
	State   claim.State
	Verdict verdict.State
	// Counts: a candidate or member whose result counts (contract §4).
	Counts bool
	// Fenced and Gone: later evidence under this name is stale.
	Fenced, Gone bool
	// Since and By say when and by which event the state was entered; By is 0
	// for the initial one.
	Since time.Duration
	By    claim.Event
	// Operation is how far the own operation came; 0 on the receive side and for
	// the local claim.
	Operation operation.Phase
}

// RegionState is one region at one moment.
type RegionState struct {
	ID  string
	Len uint64
	// Allocation grows with each Reuse, Registration with each Deregister; both
	// start at 1.
	Allocation, Registration uint64
	// Registered is false after Deregister, until the region is added again.
	Registered bool
	Owners     []PieceName // unreleased, sorted
}

// Counters are totals since New, except where they say "now".
type Counters struct {
	Admitted uint64 // pieces
	Released uint64 // pieces
	Owners   int    // unreleased pieces, now; Admitted = Released + Owners (I17)
	Retained int    // owners that are not drained, now
	Sessions int    // now
	// Stale counts calls that ended stale; Duplicates and Ignored count cells,
	// once for each claim that an event was offered to.
	Stale, Duplicates, Ignored uint64
	Conflicts                  uint64 // conflicts, each of which set or met an invalid latch
	LaterCauses                uint64 // causes that came after the first, and changed nothing
	Foreign                    uint64 // reports that claimed to come from another accessor
	Contained                  int    // calls of Config.Contain: 0 or 1
	Outbox                     int    // waiting messages, now
	Tombstones                 int    // now
	Requests                   int    // kept requests for data, now
	Records                    int    // request ids that are remembered, now; a watermark lets go of those that are over
	RequestsDropped            uint64 // requests for data that found the table, or their share of the outbox, full
}
