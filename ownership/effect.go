// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/gate"
	"github.com/kvxfer/kvxfer/gen/outcome"
)

// Stamp orders effects: Seq grows by one for each effect of a registry, without
// gaps, and At is the time that the effect has, which is a deadline's own time
// where a later call noticed it.
type Stamp struct {
	Seq uint64
	At  time.Duration
}

// Stamped returns the stamp itself.
func (s Stamp) Stamped() Stamp { return s }

// Effect is one thing that a call did: a pointer to one of the types below, and
// no other package can add one. Effects are for the caller to read; all state
// has changed before he sees them, and several calls' effects are ordered by Seq.
type Effect interface {
	Stamped() Stamp
	// String returns the effect in one line, without its stamp.
	String() string

	effect()
}

// Effects are the effects of one call, in order.
type Effects []Effect

type (
	// ClaimMoved says that an event moved a claim; see its method Claim.
	ClaimMoved struct {
		Stamp
		Event    claim.Event
		From, To claim.State

		index uint8  // of the claim
		owner *owner // only what never changes of it is read
	}
	// GateMoved says that a gate moved. To PUBLISHING is the permission to send
	// the addresses; Finish or FailSend must follow.
	GateMoved struct {
		Stamp
		Piece    PieceName
		From, To gate.State
	}
	// PieceEnded says that a piece has its logical answer.
	PieceEnded struct {
		Stamp
		Piece   PieceName
		Outcome outcome.State
		Cause   Cause
		Origin  Origin
	}
	// PieceInvalid says that contradictory evidence latched a piece: it will
	// never be released.
	PieceInvalid struct {
		Stamp
		Piece PieceName
	}
	// SessionEnded says that a session has its logical answer. Its memory may
	// still be touched.
	SessionEnded struct {
		Stamp
		Session SessionName
		Outcome outcome.State
		Cause   Cause
		Origin  Origin
	}
	// SessionSettled says that everything of a session with an answer is proven.
	SessionSettled struct {
		Stamp
		Session SessionName
	}
	// SessionUnsettled says that a doubt or a conflict took that back.
	SessionUnsettled struct {
		Stamp
		Session SessionName
	}
	// SessionClosed says that the session is gone, and repeats its answer; its
	// pieces' Released came before.
	SessionClosed struct {
		Stamp
		Session SessionName
		Outcome outcome.State
		Cause   Cause
		Origin  Origin
	}
	// Released gives the memory of a piece back: exactly once for each piece (I8).
	Released struct {
		Stamp
		Piece  PieceName
		Region string
	}
	// Queued says that a message waits in the outbox.
	Queued struct {
		Stamp
		Outgoing
	}
	// TakenBack says that a waiting message left the outbox unsent.
	TakenBack struct {
		Stamp
		Outgoing
	}
	// AdmissionChanged says what is taken in from now on.
	AdmissionChanged struct {
		Stamp
		From, To Admission
	}
	// FatalLatched says that a grace deadline passed without proof. The registry
	// calls Config.Contain by itself, before the call that noticed returns.
	FatalLatched struct {
		Stamp
		Containment Containment
	}
)

// Claim returns the whole name of the claim that moved. It is put together here
// because it is long, and moves are many.
func (e *ClaimMoved) Claim() ClaimName { return e.owner.claimName(int(e.index)) }

func (e *ClaimMoved) String() string {
	return fmt.Sprintf("claim %v: %v: %v -> %v", e.Claim(), e.Event, e.From, e.To)
}
func (e *GateMoved) String() string { return fmt.Sprintf("gate %v: %v -> %v", e.Piece, e.From, e.To) }
func (e *PieceEnded) String() string {
	return fmt.Sprintf("piece %v: %v", e.Piece, answer(e.Outcome, e.Cause, e.Origin))
}
func (e *PieceInvalid) String() string { return fmt.Sprintf("piece %v: invalid", e.Piece) }
func (e *SessionEnded) String() string {
	return fmt.Sprintf("session %v: %v", e.Session, answer(e.Outcome, e.Cause, e.Origin))
}
func (e *SessionSettled) String() string   { return fmt.Sprintf("session %v: settled", e.Session) }
func (e *SessionUnsettled) String() string { return fmt.Sprintf("session %v: unsettled", e.Session) }
func (e *SessionClosed) String() string    { return fmt.Sprintf("session %v: closed", e.Session) }
func (e *Released) String() string {
	return fmt.Sprintf("piece %v: released region %s", e.Piece, e.Region)
}
func (e *Queued) String() string           { return fmt.Sprintf("outbox %v: queued %v", e.To, e.Message) }
func (e *TakenBack) String() string        { return fmt.Sprintf("outbox %v: taken back %v", e.To, e.Message) }
func (e *AdmissionChanged) String() string { return fmt.Sprintf("admission: %v -> %v", e.From, e.To) }
func (e *FatalLatched) String() string {
	return fmt.Sprintf("fatal: session %v not settled at %v", e.Containment.Session, e.Containment.Deadline)
}

func answer(o outcome.State, c Cause, by Origin) string {
	if o == outcome.Succeeded {
		return o.String()
	}
	return fmt.Sprintf("%v, cause %v, origin %v", o, c, by)
}

func (*ClaimMoved) effect()       {}
func (*GateMoved) effect()        {}
func (*PieceEnded) effect()       {}
func (*PieceInvalid) effect()     {}
func (*SessionEnded) effect()     {}
func (*SessionSettled) effect()   {}
func (*SessionUnsettled) effect() {}
func (*SessionClosed) effect()    {}
func (*Released) effect()         {}
func (*Queued) effect()           {}
func (*TakenBack) effect()        {}
func (*AdmissionChanged) effect() {}
func (*FatalLatched) effect()     {}
