// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package model

// The kinds of errors, in the order in which they are judged (§11).
const (
	Invalid  = "invalid_argument"
	Stale    = "stale"
	Fatal    = "fatal"
	Closed   = "closed"
	Conflict = "conflict"
	Reject   = "reject"
	Refused  = "refused"
	Capacity = "capacity"
)

// Local is the accessor of a piece's own scatter or gather.
const Local = "local"

// Request is a request id: its creating endpoint and a number that grows there.
type Request struct {
	Endpoint string
	Number   int
}

// Name is one attempt of a request: a session.
type Name struct {
	Request Request
	Attempt int
}

// PieceName is an owner.
type PieceName struct {
	Session Name
	Piece   string
}

// Member is an accessor in one of its lives, which count from 1. As an argument
// of Fence and Gone, life 0 means every one that is known.
type Member struct {
	Accessor string
	Life     int
}

// ClaimName is what evidence names. Old says that anything else of the name is
// not the current one: another sequence, or another incarnation of the owner.
type ClaimName struct {
	Piece PieceName
	Of    Member
	Old   bool
}
