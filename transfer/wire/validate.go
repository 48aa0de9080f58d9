// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"
)

// Limits of the fields.
const (
	MaxEndpoint = 128     // bytes in an endpoint's name
	MaxPiece    = 255     // bytes in a piece's name
	MaxLabel    = 1024    // bytes in a label
	MaxMetadata = 1 << 20 // bytes
	MaxSegments = 1 << 17 // in one RequestData
	// MaxMessage is the size in bytes that a carrier must accept for one
	// message; with the limits above no message is larger.
	MaxMessage = 4 << 20
)

// ErrInvalid is matched by every *FieldError.
var ErrInvalid = errors.New("wire: invalid message")

// ErrVersion is matched by every *VersionError.
var ErrVersion = errors.New("wire: version not supported")

// FieldError names the field of a message that is outside of its limit.
type FieldError struct {
	Kind   Kind
	Field  string // as in Go, with the path: "Claim.Session.Attempt"
	Reason string
}

// Error returns the text "wire: KIND: Field: reason".
func (e *FieldError) Error() string {
	return fmt.Sprintf("wire: %v: %s: %s", e.Kind, e.Field, e.Reason)
}

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// VersionError says that the peer speaks another major version.
type VersionError struct{ Ours, Theirs Version }

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("wire: peer speaks protocol version %v, we speak %v", e.Theirs, e.Ours)
}

// Unwrap returns ErrVersion.
func (e *VersionError) Unwrap() error { return ErrVersion }

// Check returns a *VersionError unless an endpoint that speaks v can talk to
// this one. Only the major number decides.
func (v Version) Check() error {
	if v.Major != Current.Major {
		return &VersionError{Ours: Current, Theirs: v}
	}
	return nil
}

// Validate checks every field but the version, so that a peer of another
// version is told about the version.
func (m Hello) Validate() error {
	c := checker{kind: m.Kind()}
	c.endpoint("Endpoint", m.Endpoint)
	c.incarnation("Incarnation", m.Incarnation)
	if m.Agent != "" {
		c.endpoint("Agent", m.Agent)
	}
	c.atMost("Metadata", len(m.Metadata), MaxMetadata, "bytes")
	c.process(m.Process)
	return c.err()
}

// Validate checks every field.
func (m RequestData) Validate() error {
	c := checker{kind: m.Kind()}
	c.positive("Seq", m.Seq)
	c.claim(m.Claim)
	c.valid("Direction", m.Direction.IsValid(), m.Direction)
	c.valid("Space.Kind", m.Space.Kind.IsValid(), m.Space.Kind)
	if m.Space.Kind == DRAM && m.Space.Device != 0 {
		c.fail("Space.Device", "is %d, of the host's memory", m.Space.Device)
	}
	c.segments(m.Segments)
	c.atMost("Metadata", len(m.Metadata), MaxMetadata, "bytes")
	c.text("Label", m.Label, MaxLabel)
	return c.err()
}

// Validate checks every field.
func (m Result) Validate() error {
	c := checker{kind: m.Kind()}
	c.positive("Seq", m.Seq)
	c.claim(m.Claim)
	c.valid("Evidence", m.Evidence.IsValid(), m.Evidence)
	return c.err()
}

// Validate checks every field.
func (m CancelSession) Validate() error {
	c := checker{kind: m.Kind()}
	c.positive("Seq", m.Seq)
	c.session("Session", m.Session)
	c.valid("From", m.From.IsValid(), m.From)
	return c.err()
}

// Validate checks every field.
func (m SessionQuiesced) Validate() error {
	c := checker{kind: m.Kind()}
	c.positive("Seq", m.Seq)
	c.session("Session", m.Session)
	return c.err()
}

// Validate accepts every number: 0 says that nothing has arrived.
func (m Receipt) Validate() error { return nil }

// Validate returns nil: there is no field.
func (m Goodbye) Validate() error { return nil }

// Validate checks every field.
func (m Confirmed) Validate() error {
	c := checker{kind: m.Kind()}
	c.positive("Seq", m.Seq)
	c.claim(m.Claim)
	return c.err()
}

// CheckEndpoint returns an error unless name can be an endpoint's name: 1 to
// MaxEndpoint letters, digits and ".", "_", "-", ":" of ASCII.
func CheckEndpoint(name string) error {
	c := checker{kind: KindHello}
	c.endpoint("Endpoint", name)
	return c.err()
}

// checker keeps the first mistake.
type checker struct {
	kind  Kind
	first *FieldError
}

func (c *checker) err() error {
	if c.first == nil {
		return nil
	}
	return c.first
}

func (c *checker) fail(field, format string, args ...any) {
	if c.first == nil {
		c.first = &FieldError{Kind: c.kind, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
}

func (c *checker) positive(field string, n uint64) {
	if n == 0 {
		c.fail(field, "is 0")
	}
}

func (c *checker) valid(field string, ok bool, v fmt.Stringer) {
	if !ok {
		c.fail(field, "%v", v)
	}
}

func (c *checker) atMost(field string, n, limit int, unit string) {
	if n > limit {
		c.fail(field, "%d %s, limit %d", n, unit, limit)
	}
}

func (c *checker) incarnation(field string, i Incarnation) {
	if i == (Incarnation{}) {
		c.fail(field, "is all zero")
	}
}

func (c *checker) endpoint(field, s string) {
	if s == "" {
		c.fail(field, "is empty")
	}
	c.atMost(field, len(s), MaxEndpoint, "bytes")
	for i := range len(s) {
		switch b := s[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '.', b == '_', b == '-', b == ':':
		default:
			c.fail(field, "character %q at byte %d: only letters, digits and . _ - : are allowed", b, i)
			return
		}
	}
}

func (c *checker) text(field, s string, limit int) {
	c.atMost(field, len(s), limit, "bytes")
	if !utf8.ValidString(s) {
		c.fail(field, "is not UTF-8")
	}
	for i, r := range s {
		if !unicode.IsPrint(r) {
			c.fail(field, "character %q at byte %d is not printable", r, i)
			return
		}
	}
}

func (c *checker) session(field string, s SessionName) {
	c.endpoint(field+".Request.Endpoint", s.Request.Endpoint)
	c.positive(field+".Request.Number", s.Request.Number)
	c.positive(field+".Attempt", uint64(s.Attempt))
}

func (c *checker) claim(n ClaimName) {
	c.incarnation("Claim.Owner", n.Owner)
	c.session("Claim.Session", n.Session)
	if n.Piece == "" {
		c.fail("Claim.Piece", "is empty")
	}
	c.text("Claim.Piece", n.Piece, MaxPiece)
	c.endpoint("Claim.Accessor", n.Accessor)
	c.incarnation("Claim.Incarnation", n.Incarnation)
	c.positive("Claim.Sequence", n.Sequence)
}

// process checks one that is said; the zero value says nothing.
func (c *checker) process(p Process) {
	if p == (Process{}) {
		return
	}
	if p.PID == 0 || p.PID > math.MaxInt32 {
		c.fail("Process.PID", "is %d", p.PID)
	}
	c.text("Process.Boot", p.Boot, MaxEndpoint)
	c.text("Process.Namespace", p.Namespace, MaxEndpoint)
	if p.Boot == "" || p.Namespace == "" {
		c.fail("Process", "does not say where its number means something")
	}
}

func (c *checker) segments(segments []Segment) {
	if len(segments) == 0 {
		c.fail("Segments", "is empty")
	}
	c.atMost("Segments", len(segments), MaxSegments, "segments")
	var total uint64
	for i, s := range segments {
		switch {
		case s.Len == 0:
			c.fail(fmt.Sprintf("Segments[%d].Len", i), "is 0")
		case s.Addr > math.MaxUint64-s.Len:
			c.fail(fmt.Sprintf("Segments[%d]", i), "ends beyond the address space")
		case total > math.MaxUint64-s.Len:
			c.fail("Segments", "hold more bytes than 64 bits count")
		}
		if c.first != nil {
			return
		}
		total += s.Len
	}
}
