// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
)

// Call says which method of a [Registry] a [Step] is a call of.
type Call uint8

// The calls. CallDeadline is none of a caller's: a deadline has passed, and the
// step after it is the call that noticed.
const (
	_ Call = iota
	CallAdmit
	CallAddPieces // AddPiece too
	CallSeal
	CallFinish
	CallFailSend
	CallOperation
	CallReport
	CallAck
	CallLocal
	CallFence
	CallGone
	CallCancel
	CallRequested
	CallFail
	CallFailPiece
	CallComplete
	CallClose
	CallStop
	CallReopen
	CallWatermark
	CallTick
	CallReincarnate
	CallDelivered
	CallAddRegion
	CallReuse
	CallDeregister
	CallRemoveRegion
	CallDeadline
)

var callNames = [...]string{
	CallAdmit: "admit", CallAddPieces: "add_pieces", CallSeal: "seal", CallFinish: "finish", CallFailSend: "fail_send",
	CallOperation: "operation", CallReport: "report", CallAck: "ack", CallLocal: "local", CallFence: "fence", CallGone: "gone",
	CallCancel: "cancel", CallRequested: "requested", CallFail: "fail", CallFailPiece: "fail_piece", CallComplete: "complete",
	CallClose: "close", CallStop: "stop", CallReopen: "reopen", CallWatermark: "watermark", CallTick: "tick",
	CallReincarnate: "reincarnate", CallDelivered: "delivered", CallAddRegion: "add_region", CallReuse: "reuse",
	CallDeregister: "deregister", CallRemoveRegion: "remove_region", CallDeadline: "deadline",
}

// String returns the call's name, such as "add_pieces".
func (c Call) String() string { return name(callNames[:], int(c), "call") }

// Step is one call of a registry as it was served, with its inputs and what came
// of it: what a trace is made of. Which fields count depends on Call. It may be
// kept; nothing in it changes.
type Step struct {
	At   time.Duration
	Call Call
	// Session is that of admit, ack, cancel, requested, fail, complete and close.
	Session SessionName
	// Side, Timeout and Grace are those of admit, in force.
	Side           Side
	Timeout, Grace time.Duration
	// Added are the pieces of add_pieces; First is the sequence of the first claim.
	Added []PieceSpec
	First uint64
	// Pieces are those of seal and finish, and the one of fail_send and fail_piece.
	Pieces []PieceName
	// Published are the accessors of fail_send that may have the address.
	Published []Accessor
	// Claim is that of operation, report and local.
	Claim    ClaimName
	Status   operation.Status // of operation
	Evidence Evidence         // of report
	Local    LocalEvent       // of local
	// From is the sender of a report, ack, cancel, request; whom a fence or gone is
	// about; whom a delivered message went to.
	From   Member
	Scope  Scope  // of fence
	Origin Origin // of cancel
	Reason Cause  // of fail and fail_piece
	// Region is that of add_region, reuse, deregister and remove_region.
	Region string
	// Endpoint and Number are those of watermark; Number also the message's of delivered.
	Endpoint string
	Number   uint64
	// Life is that of reincarnate, and of add_pieces the one in its claims' names.
	Life Incarnation

	// Err is what the call returned; its effects follow.
	Err     error
	Effects Effects
}

// tracing begins the step that the running call is, nil where nobody traces.
func (c *core) tracing(call Call) *Step {
	if c.cfg.Trace == nil {
		return nil
	}
	c.step = Step{Call: call, At: c.now}
	return &c.step
}

// traceDeadlines reports what the call noticed to have happened before it.
func (c *core) traceDeadlines(at time.Duration) {
	c.step, c.traced = Step{}, c.log.pending
	if n := c.log.pending; n > 0 {
		c.cfg.Trace(Step{At: at, Call: CallDeadline, Effects: c.log.room[:n:n]})
	}
}

// traceEnd reports the call, without the effects that are reported already.
func (c *core) traceEnd(effects Effects, err error) {
	if c.step.Call != 0 {
		c.step.Effects, c.step.Err = effects[min(c.traced, len(effects)):], err
		c.cfg.Trace(c.step)
	}
}

// traceEvidence notes the inputs of a call that carries evidence.
func (c *core) traceEvidence(e *evidence) {
	calls := [...]Call{
		evidenceOperation: CallOperation, evidenceReport: CallReport, evidenceAck: CallAck,
		evidenceLocal: CallLocal, evidenceFence: CallFence, evidenceGone: CallGone,
	}
	if s := c.tracing(calls[e.kind]); s != nil {
		s.Claim, s.Session, s.From, s.Status = e.claim, e.session, e.from, e.status
		s.Evidence, s.Local, s.Scope = e.result, e.local, e.scope
	}
}
