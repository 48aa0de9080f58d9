// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

// Version is the version of the format, in every header.
const Version = 1

// Record is one line of a trace: a header, a step or an effect, whichever of the
// first three fields is there. Which others count depends on it; docs/traces.md has
// the table. Names are those of the contract; times are nanoseconds of the
// endpoint's monotonic clock.
type Record struct {
	Header *Header `json:"trace,omitempty"`
	Step   string  `json:"step,omitempty"`
	Effect string  `json:"effect,omitempty"`

	At  int64  `json:"at_ns"`
	Seq uint64 `json:"seq,omitempty"` // of an effect: grows by one

	Session     string `json:"session,omitempty"` // endpoint/number@attempt
	Piece       string `json:"piece,omitempty"`
	Accessor    string `json:"accessor,omitempty"`
	Incarnation string `json:"incarnation,omitempty"` // of the accessor
	Owner       string `json:"owner,omitempty"`       // of a claim's name: the incarnation of its holder
	Claim       uint64 `json:"claim,omitempty"`       // of a claim's name: its sequence

	Event string `json:"event,omitempty"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`

	Outcome string `json:"outcome,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Origin  string `json:"origin,omitempty"`

	Status   string `json:"status,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Sender   string `json:"sender,omitempty"` // who sent a report, as its stream authenticated it
	Scope    string `json:"scope,omitempty"`

	Side    string `json:"side,omitempty"`
	Timeout int64  `json:"request_timeout_ns,omitempty"`
	Grace   int64  `json:"grace_ns,omitempty"`

	Pieces    []PieceSpec `json:"pieces,omitempty"`
	First     uint64      `json:"first,omitempty"` // sequence of the first claim of Pieces
	Names     []string    `json:"names,omitempty"` // pieces of Session
	Published []string    `json:"published,omitempty"`

	Region   string `json:"region,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Number   uint64 `json:"number,omitempty"`
	Message  string `json:"message,omitempty"`
	Deadline int64  `json:"deadline_ns,omitempty"`
	Lost     uint64 `json:"lost,omitempty"`

	Counters *Counters `json:"counters,omitempty"`

	// Answer is the kind of the error that the step returned; empty: none.
	Answer string `json:"answer,omitempty"`
}

// Header says what a trace is of. It is the first line.
type Header struct {
	Format      int    `json:"format"`
	Spec        string `json:"spec,omitempty"` // SHA-256 over the hashes of all specs
	Endpoint    string `json:"endpoint"`
	Incarnation string `json:"incarnation,omitempty"`
	Started     string `json:"started,omitempty"` // RFC 3339; the wall clock at 0 ns
	// Imported is set where the trace was made out of another engine's log: it
	// has no steps.
	Imported bool `json:"imported,omitempty"`
}

// PieceSpec is a piece of an add_pieces step or of an imported piece record.
type PieceSpec struct {
	Name   string   `json:"name"`
	Region string   `json:"region,omitempty"`
	Access string   `json:"access,omitempty"` // writes or reads
	Count  int      `json:"count,omitempty"`
	Local  bool     `json:"local,omitempty"`
	Cohort []Member `json:"cohort,omitempty"`
}

// Member is an accessor of a cohort.
type Member struct {
	Accessor    string `json:"accessor"`
	Incarnation string `json:"incarnation,omitempty"`
	Sequence    uint64 `json:"sequence,omitempty"`
}

// Counters are the totals that the step "end" repeats.
type Counters struct {
	Admitted uint64 `json:"admitted"`
	Released uint64 `json:"released"`
	Owners   int    `json:"owners"`
}

// The effects of a record. Piece is for imported traces alone: a piece came to be.
const (
	effectClaim     = "claim"
	effectGate      = "gate"
	effectEnded     = "piece_ended"
	effectInvalid   = "piece_invalid"
	effectSession   = "session_ended"
	effectSettled   = "session_settled"
	effectUnsettled = "session_unsettled"
	effectClosed    = "session_closed"
	effectReleased  = "released"
	effectQueued    = "queued"
	effectTakenBack = "taken_back"
	effectAdmission = "admission"
	effectFatal     = "fatal"
	effectPiece     = "piece"
	effectReuse     = "reuse"
)

var effectNames = []string{
	effectClaim, effectGate, effectEnded, effectInvalid, effectSession, effectSettled, effectUnsettled, effectClosed,
	effectReleased, effectQueued, effectTakenBack, effectAdmission, effectFatal, effectPiece, effectReuse,
}

// Two steps that are no calls: what the writer had no room for, and the end of a trace.
const (
	stepLost = "lost"
	stepEnd  = "end"
)
