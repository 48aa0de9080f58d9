// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Accessor is an endpoint's name as its peers know it (contract §2). [Local] is
// reserved for the scatter or gather of the own process.
type Accessor string

// Local is the accessor of a piece's own scatter or gather; no cohort may name it.
const Local Accessor = "local"

// Incarnation is one life of an endpoint: 128 random bits, so that a name is
// never used twice, restarts included (contract §3). The zero value is invalid.
type Incarnation [16]byte

// NewIncarnation returns a fresh random incarnation.
func NewIncarnation() Incarnation {
	var i Incarnation
	rand.Read(i[:]) // never fails, by its documentation
	return i
}

// ParseIncarnation reads what String wrote.
func ParseIncarnation(s string) (Incarnation, error) {
	var i Incarnation
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(i) {
		return Incarnation{}, fmt.Errorf("ownership: incarnation %q: want %d hexadecimal digits", s, 2*len(i))
	}
	copy(i[:], b)
	return i, nil
}

// String returns the incarnation as 32 hexadecimal digits.
func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }

// IsZero reports whether i names no incarnation.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

// RequestID names a request: the endpoint that created it and a number that
// only grows there (contract §3).
type RequestID struct {
	Endpoint string
	Number   uint64
}

// String returns "endpoint/number".
func (r RequestID) String() string { return r.Endpoint + "/" + strconv.FormatUint(r.Number, 10) }

// SessionName names one attempt of a request. Attempts count from 1. One
// attempt is one session of a registry, whatever its side.
type SessionName struct {
	Request RequestID
	Attempt uint32
}

// String returns "endpoint/number@attempt".
func (s SessionName) String() string {
	return s.Request.String() + "@" + strconv.FormatUint(uint64(s.Attempt), 10)
}

// what names the session in an error.
func (s SessionName) what() string { return "session " + s.String() }

// ParseSessionName reads what String wrote.
func ParseSessionName(text string) (SessionName, error) {
	bad := func(what string) (SessionName, error) {
		return SessionName{}, fmt.Errorf("ownership: session name %q: %s", text, what)
	}
	at := strings.LastIndexByte(text, '@')
	slash := strings.LastIndexByte(text, '/')
	if slash < 1 || at < slash {
		return bad("want endpoint/number@attempt")
	}
	number, err := strconv.ParseUint(text[slash+1:at], 10, 64)
	if err != nil {
		return bad("its number is " + errors.Unwrap(err).Error())
	}
	attempt, err := strconv.ParseUint(text[at+1:], 10, 32)
	if err != nil || attempt == 0 {
		return bad("its attempt is no positive number")
	}
	return SessionName{RequestID{text[:slash], number}, uint32(attempt)}, nil
}

// PieceName names one owner: a piece of a session.
type PieceName struct {
	Session SessionName
	Piece   string
}

// String returns "endpoint/number@attempt:piece".
func (p PieceName) String() string { return p.Session.String() + ":" + p.Piece }

// what names the piece in an error.
func (p PieceName) what() string { return "piece " + p.String() }

// ClaimName is the whole name that evidence carries (contract §3). Evidence
// under a name that is not the current one is stale.
type ClaimName struct {
	// Owner is the incarnation of the endpoint whose registry holds the claim.
	Owner Incarnation
	Piece PieceName
	// Accessor and Incarnation say who may touch the memory.
	Accessor    Accessor
	Incarnation Incarnation
	// Sequence is unique and growing within the Owner's registry; it is > 0.
	Sequence uint64
}

// String returns the parts that differ within one process, in one line.
func (c ClaimName) String() string {
	return c.Piece.String() + " of " + string(c.Accessor) + " #" + strconv.FormatUint(c.Sequence, 10)
}

// what names the claim in an error.
func (c *ClaimName) what() string { return "claim " + c.String() }

// Member is an accessor in one of its lives.
type Member struct {
	Accessor    Accessor
	Incarnation Incarnation
	// Sequence is for a send side's cohort alone: the sequence in the claim name
	// of the peer's REQUEST_DATA. Results quote it back.
	Sequence uint64
}

// String returns the accessor's name and the first digits of its incarnation.
func (m Member) String() string {
	return string(m.Accessor) + "~" + hex.EncodeToString(m.Incarnation[:4])
}
