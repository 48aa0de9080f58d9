// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain

import "time"

// Schema is the number of the document's shape; see the package's text.
const Schema = 1

// Report is everything that an endpoint owns at one moment, and why.
type Report struct {
	Schema      int       `json:"schema"`
	Endpoint    string    `json:"endpoint"`
	Incarnation string    `json:"incarnation"` // 32 hexadecimal digits
	Taken       time.Time `json:"taken"`
	// Elapsed is the time since the endpoint was made.
	Elapsed   time.Duration `json:"elapsed_ns"`
	Admission Admission     `json:"admission"`
	Fatal     *Fatal        `json:"fatal,omitempty"` // nil unless FATAL
	Totals    Totals        `json:"totals"`
	Regions   []Region      `json:"regions"` // all, the free ones too, sorted by id
	Pools     []Pool        `json:"pools"`   // of blocks, sorted by region
	Waiting   []Waiting     `json:"waiting"` // messages for peers, in each stream's order
	// Fences are those that were applied, in order; the latest where there are many.
	Fences []Fence `json:"fences,omitempty"`
}

// Admission is what is taken in, and what to do about it.
type Admission struct {
	State string `json:"state"` // OPEN, QUARANTINED, CLOSED or FATAL
	// Scope is how far a doubt closes admission: endpoint, accessor or off.
	Scope string `json:"scope"`
	// Doubted are the accessors that the quarantine remembers, sorted.
	Doubted []string `json:"doubted,omitempty"`
	Text    string   `json:"text"`
}

// Fatal is the deadline that passed without proof (contract §6).
type Fatal struct {
	Session  string        `json:"session"` // the first that was not settled in time
	Deadline time.Duration `json:"deadline_ns"`
	Noticed  time.Duration `json:"noticed_ns"`
	// ContainError is what the containment callback returned; empty where it
	// succeeded or has not returned yet.
	ContainError string   `json:"contain_error,omitempty"`
	Retained     []string `json:"retained"` // what the session held at that moment, one line each
	Text         string   `json:"text"`
}

// Totals count pieces, which are owners, and what else there is.
type Totals struct {
	Admitted uint64 `json:"admitted"` // pieces, ever
	Released uint64 `json:"released"` // pieces, ever
	Owned    int    `json:"owned"`    // pieces, now
	Unproven int    `json:"unproven"` // of the owned ones: not drained
	Sessions int    `json:"sessions"` // now
	Reports  int    `json:"reports"`  // messages that wait for peers; a stop waits for them
}

// Holding says how a region stands.
type Holding string

// The holdings, from harmless to serious.
const (
	Free     Holding = "free"     // nobody owns it: it may be reused
	Drained  Holding = "drained"  // everything is proven, but a session was not closed yet
	Retained Holding = "retained" // proof is missing
)

// Region is one region and its owners.
type Region struct {
	ID           string  `json:"id"`
	Bytes        uint64  `json:"bytes"`
	Allocation   uint64  `json:"allocation"`   // generation, grows with each reuse
	Registration uint64  `json:"registration"` // generation, grows with each deregistration
	Registered   bool    `json:"registered"`
	Holding      Holding `json:"holding"`
	Owners       []Owner `json:"owners"` // unreleased, sorted by session
	Text         string  `json:"text"`
}

// Owner is one piece that holds a region.
type Owner struct {
	Session string `json:"session"` // endpoint/number@attempt
	Piece   string `json:"piece"`
	Kind    string `json:"kind,omitempty"` // the caller's label
	Side    string `json:"side"`           // receive or send
	// Outcome, Cause and Origin are the logical answer; it says nothing about
	// the memory. Cause and Origin are empty for ACTIVE and SUCCEEDED.
	Outcome string `json:"outcome"`
	Cause   string `json:"cause,omitempty"`
	Origin  string `json:"origin,omitempty"`
	Gate    string `json:"gate"`
	Drained bool   `json:"drained"`
	Claims  int    `json:"claims"` // the local one included
	Proven  int    `json:"proven"` // claims in a reusable state
	// Expires is when the request clock ends an ACTIVE session, Deadline when
	// missing proof becomes FATAL; nil where that clock does not run.
	Expires  *time.Duration `json:"expires_ns,omitempty"`
	Deadline *time.Duration `json:"deadline_ns,omitempty"`
	Reasons  []Reason       `json:"reasons"` // at least one
	Text     string         `json:"text"`
}

// Subject says what a reason is about.
type Subject string

// The subjects of reasons.
const (
	Claim   Subject = "claim"   // an accessor may still touch the memory, or is about to be allowed to
	Gate    Subject = "gate"    // the fan-out of the addresses has not returned
	Invalid Subject = "invalid" // contradictory evidence: never released
	Late    Subject = "late"    // proven too late: the registry is FATAL
	Close   Subject = "close"   // nothing is missing but the caller's close
)

// Reason is one thing in the way of a release.
type Reason struct {
	About Subject `json:"about"`
	// Accessor, Incarnation, State, Event and Since are of a claim. Event led to
	// State at Since; it is empty for the initial state. Incarnation is empty
	// for the own scatter or gather, which is the accessor "local".
	Accessor    string        `json:"accessor,omitempty"`
	Incarnation string        `json:"incarnation,omitempty"`
	State       string        `json:"state,omitempty"`
	Event       string        `json:"event,omitempty"`
	Since       time.Duration `json:"since_ns,omitempty"`
	Age         time.Duration `json:"age_ns,omitempty"`
	// Frees says what would take this reason away, in words.
	Frees string `json:"frees"`
	Text  string `json:"text"`
}
