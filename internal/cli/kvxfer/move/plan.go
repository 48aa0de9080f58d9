// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package move does what "kvxfer run" shows: it moves KV-shaped data from one
// endpoint to another, owned on both sides, and reports what happened. The two
// endpoints live in two processes, or in one where there is no NIXL.
//
// The first process sends: it holds the source, says what to do next and
// judges. The second one receives. They talk over two channels that have
// nothing to do with each other: the control stream between the endpoints,
// which belongs to the library, and lines of JSON between the processes, which
// belong to this experiment (orders, events, checksums).
package move

import (
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
)

// Names of the two endpoints, as they know each other.
const (
	SenderName   = "prefill"
	ReceiverName = "decode"
)

// Plan is what both sides must know. It is the second process's job.
type Plan struct {
	Shape     blocks.Shape `json:"shape"`
	Seed      uint64       `json:"seed"`
	Library   string       `json:"library,omitempty"` // path of NIXL; empty: the loop backend
	Transport string       `json:"transport"`         // tcp, cma or auto
	Control   string       `json:"control"`           // address of the control stream
	Out       string       `json:"out,omitempty"`     // file that the receiver writes
	Trace     string       `json:"trace,omitempty"`   // each side's trace goes to TraceFile of it

	RequestTimeout time.Duration `json:"request_timeout_ns"` // contract section 6, T
	Grace          time.Duration `json:"grace_ns"`           // contract section 6, G
	Wait           time.Duration `json:"wait_ns"`            // own wait for an operation, then overdue
	// Recover: after a Stall the sender goes on in another life, with one transfer more.
	Recover bool `json:"recover,omitempty"`
}

// Fault is what happens to the receiver while a transfer is in flight.
type Fault string

// Faults.
const (
	NoFault Fault = ""
	Stall   Fault = "stall" // stopped until the sender's wait has run out, then continued
	Kill    Fault = "kill"  // ended by SIGKILL
	Slow    Fault = "slow"  // stopped and continued again and again
)

// ParseFault reads a fault by name.
func ParseFault(s string) (Fault, error) {
	switch f := Fault(s); f {
	case NoFault, Stall, Kill, Slow:
		return f, nil
	}
	return "", fmt.Errorf("unknown fault %q, want stall, kill or slow", s)
}

// sourceOrder and targetOrder differ: the data changes its places on the way.
func (p *Plan) sourceOrder() []blocks.Block { return p.Shape.Order(p.Seed) }
func (p *Plan) targetOrder() []blocks.Block { return p.Shape.Order(^p.Seed) }

// order is what the first process tells the second one to do next.
type order struct {
	Receive *receiveOrder `json:"receive,omitempty"`
	Finish  bool          `json:"finish,omitempty"`
}

type receiveOrder struct {
	Number int   `json:"number"` // of the transfer, from 1
	Bytes  int64 `json:"bytes"`
	// Digest is the sender's SHA-256 of the logical sequence. It comes over the
	// pipe and not with the data, so that it cannot go wrong together with it.
	Digest string `json:"sha256"`
	// Evade: what is not proven when it has failed is left behind.
	Evade bool `json:"evade,omitempty"`
}

// reply is one line of the second process: exactly one field is set.
type reply struct {
	Ready    *readyReply `json:"ready,omitempty"`
	Event    *Event      `json:"event,omitempty"`
	Received *Received   `json:"received,omitempty"`
	Finished *Finished   `json:"finished,omitempty"`
	Failed   *Failure    `json:"failed,omitempty"`
}

type readyReply struct {
	Pid int `json:"pid"`
}

// Received is how one transfer ended at the receiver.
type Received struct {
	Number  int           `json:"number"`
	Session string        `json:"session"`
	Outcome string        `json:"outcome"`
	Cause   string        `json:"cause,omitempty"`
	Digest  string        `json:"sha256,omitempty"` // of what arrived, when the outcome is success
	Equal   bool          `json:"equal"`            // the sender's digest is the same
	Took    time.Duration `json:"took_ns"`          // from the request to the release
	// Released says that the owner was released on proof.
	Released bool `json:"released"`
	// Retained says why it was not.
	Retained string `json:"retained,omitempty"`
}

// Finished is the receiver's last word.
type Finished struct {
	Admitted uint64   `json:"admitted"` // owners
	Released uint64   `json:"released"`
	Retained []string `json:"retained,omitempty"` // what it still owns, one line each
	Error    string   `json:"error,omitempty"`    // why stop was refused, or the output is not whole
	// Kind is that of the error.
	Kind FailureKind `json:"kind,omitempty"`
}
