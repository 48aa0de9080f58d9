// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "fmt"

// Message is one of *Result, *CancelSession and *SessionQuiesced. REQUEST_DATA
// is the gate's: the caller sends it between Seal and Finish.
type Message interface {
	// Session returns the session that the message is about.
	Session() SessionName
	// Label returns the message's name: OK, FAILED, IN_DOUBT, FAILED_QUIESCED,
	// CANCEL_SESSION or SESSION_QUIESCED.
	Label() string
	// String returns the message in one line.
	String() string

	message()
}

// Result tells a receiver what became of one of its claims.
type Result struct {
	Claim    ClaimName // the receiver's own name of it
	Evidence Evidence
}

// CancelSession tells that a session failed or was cancelled on From's side.
type CancelSession struct {
	Name SessionName
	From Side
}

// SessionQuiesced is a sender's statement that it holds no access for a session
// and never will.
type SessionQuiesced struct{ Name SessionName }

// Outgoing is a message that waits in the outbox.
type Outgoing struct {
	// Number orders the messages of one registry; it grows.
	Number uint64
	// To is the accessor's life that the message is for.
	To      Member
	Message Message
}

var labels = [...]string{OK: "OK", Failed: "FAILED", InDoubt: "IN_DOUBT", FailedQuiesced: "FAILED_QUIESCED"}

// Session returns the session of the claim.
func (m *Result) Session() SessionName { return m.Claim.Piece.Session }

// Session returns m.Name.
func (m *CancelSession) Session() SessionName { return m.Name }

// Session returns m.Name.
func (m *SessionQuiesced) Session() SessionName { return m.Name }

// Label returns the evidence in capitals.
func (m *Result) Label() string { return name(labels[:], int(m.Evidence), "evidence") }

// Label returns CANCEL_SESSION.
func (m *CancelSession) Label() string { return "CANCEL_SESSION" }

// Label returns SESSION_QUIESCED.
func (m *SessionQuiesced) Label() string { return "SESSION_QUIESCED" }

// String returns the message in one line.
func (m *Result) String() string { return fmt.Sprintf("RESULT %v %v", m.Label(), m.Claim) }

// String returns the message in one line.
func (m *CancelSession) String() string {
	return fmt.Sprintf("CANCEL_SESSION %v by the %v side", m.Name, m.From)
}

// String returns the message in one line.
func (m *SessionQuiesced) String() string { return fmt.Sprintf("SESSION_QUIESCED %v", m.Name) }

func (m *Result) message()          {}
func (m *CancelSession) message()   {}
func (m *SessionQuiesced) message() {}
