// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"math"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
)

// File is one scenario.
type File struct {
	Path  string // as it was given; for messages
	Name  string
	About string
	// Rows are the numbers of the catalogue that the file covers; may be empty.
	Rows   []int
	Config Config
	Steps  []Step
}

// Config is what a file asks of the registry. Zero means the registry's default.
type Config struct {
	RequestTimeout, Grace                time.Duration // Endless and negative ones are refused by the step session
	Owners, Sessions, Tombstones, Outbox int
	// PeerTombstones and PeerOutbox are one peer's share of a table; 0: all of it.
	PeerTombstones, PeerOutbox  int
	Quarantine                  ownership.Quarantine
	Manual                      bool // messages wait until a step deliver
	ContainFails, RegisterFails bool
}

// Endless stands for durations that are no finite number: inf and nan.
const Endless = time.Duration(math.MinInt64)

// Step is one step with what must be true after it.
type Step struct {
	Pos  Pos
	Kind string // the step's key; "expect" where there is only an expectation
	// Text is the step's value in one line, as the file has it.
	Text string
	act  action
	// Error is the kind of error that the step must end with; 0 means success.
	Error  ownership.Kind
	Expect []Expectation
}

// ref names a session or piece: without an attempt, the newest that was admitted.
type ref struct {
	id      string
	attempt int // 0: not given
	given   bool
}

// String returns the name as a file writes it.
func (r ref) String() string {
	if !r.given {
		return r.id
	}
	return r.id + "@" + itoa(r.attempt)
}

// action is the value of a step; one type a key.
type action interface{ step() }

type (
	sessionStep struct {
		id      ref
		side    ownership.Side
		attempt int
	}
	pieceStep struct {
		session ref
		id      string
		region  string
		cohort  []string
		count   int // 0: exact cohort; below that: a count that no cohort can have
		kind    string
		local   bool
		access  ownership.Access
	}
	gateStep struct { // seal, sent, publish
		pieces []ref
	}
	sendFailedStep struct {
		piece     ref
		published []string
	}
	cancelStep struct {
		session ref
		by      ownership.Origin
		from    string
		attempt int
		given   bool
	}
	failStep struct {
		session, piece ref
		reason         string
	}
	reportStep struct {
		piece    ref
		from     string
		evidence ownership.Evidence
		stale    bool
		oldLife  bool
	}
	ackStep struct {
		session ref
		from    string
	}
	requestStep   ackStep
	operationStep struct {
		piece  ref
		to     string
		status operation.Status
	}
	localStep struct {
		piece ref
		event ownership.LocalEvent
	}
	fenceStep struct {
		accessor string
		scope    ownership.Scope
	}
	goneStep      struct{ accessor string }
	completeStep  struct{ session ref }
	closeStep     struct{ session ref }
	advanceStep   struct{ by time.Duration }
	reuseStep     struct{ region string }
	stopStep      struct{}
	reopenStep    struct{}
	watermarkStep struct{ below string }
	deliverStep   struct {
		to string
		ok bool
	}
	expireStep struct{}
	callStep   struct { // begin, end
		end      bool
		call, to string
		piece    ref
	}
	expectStep struct{}
)

func (sessionStep) step()    {}
func (pieceStep) step()      {}
func (gateStep) step()       {}
func (sendFailedStep) step() {}
func (cancelStep) step()     {}
func (failStep) step()       {}
func (reportStep) step()     {}
func (ackStep) step()        {}
func (requestStep) step()    {}
func (operationStep) step()  {}
func (localStep) step()      {}
func (fenceStep) step()      {}
func (goneStep) step()       {}
func (completeStep) step()   {}
func (closeStep) step()      {}
func (advanceStep) step()    {}
func (reuseStep) step()      {}
func (stopStep) step()       {}
func (reopenStep) step()     {}
func (watermarkStep) step()  {}
func (deliverStep) step()    {}
func (expireStep) step()     {}
func (callStep) step()       {}
func (expectStep) step()     {}
