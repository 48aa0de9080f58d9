// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/hex"
	"fmt"
)

// Incarnation is the random identity of one life of an endpoint (contract
// section 3). All zero is never valid.
type Incarnation [16]byte

// String returns 32 hexadecimal digits.
func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }

// RequestID names a request by the endpoint that created it and a number that
// only grows there.
type RequestID struct {
	Endpoint string
	Number   uint64 // > 0
}

// String returns "endpoint/number".
func (r RequestID) String() string { return fmt.Sprintf("%s/%d", r.Endpoint, r.Number) }

// SessionName names one attempt of one request.
type SessionName struct {
	Request RequestID
	Attempt uint32 // > 0
}

// String returns "endpoint/number@attempt".
func (s SessionName) String() string { return fmt.Sprintf("%v@%d", s.Request, s.Attempt) }

// ClaimName is the whole name of a claim, as its owner's registry knows it
// (contract section 3). A sender echoes it unchanged in each RESULT.
type ClaimName struct {
	Owner       Incarnation // of the endpoint that owns the claim
	Session     SessionName
	Piece       string
	Accessor    string      // the endpoint that may touch the memory
	Incarnation Incarnation // the accessor's
	Sequence    uint64      // > 0
}

// String returns the name in one line, without the incarnations.
func (c ClaimName) String() string {
	return fmt.Sprintf("%v/%s:%s#%d", c.Session, c.Piece, c.Accessor, c.Sequence)
}

// Space is what memory is in: the host's, which is the zero value, or a device's.
type Space struct {
	Kind   MemoryKind
	Device uint32 // the GPU's ordinal in its process; 0 for DRAM
}

// Segment is one contiguous range of the receiver's registered memory.
type Segment struct {
	Addr uint64
	Len  uint64 // bytes, > 0
}
