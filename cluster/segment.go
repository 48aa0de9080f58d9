// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/binary"
	"fmt"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// statement is what one rank says of one request in one write.
type statement struct {
	session ownership.SessionName
	epoch   Revision
	state   State
	first   bool // the rank's first of this request
}

const (
	segmentVersion = 1
	minSegment     = 4 << 10 // room for a statement with the longest of names
	maxName        = 1 << 10

	drainedBit = 1 << 2
	firstBit   = 1 << 3
	sameBit    = 1 << 4 // endpoint and epoch are those of the statement before
)

// appendStatement encodes s after the one before it, which makes the usual
// statement 4 to 6 bytes long.
func appendStatement(b []byte, s, before statement) []byte {
	flags := byte(s.state.Outcome) - 1
	if s.state.Drained {
		flags |= drainedBit
	}
	if s.first {
		flags |= firstBit
	}
	same := s.session.Request.Endpoint == before.session.Request.Endpoint && s.epoch == before.epoch
	if same {
		flags |= sameBit
	}
	b = append(b, flags)
	if !same {
		b = binary.AppendUvarint(b, uint64(len(s.session.Request.Endpoint)))
		b = append(b, s.session.Request.Endpoint...)
		b = binary.AppendUvarint(b, uint64(s.epoch))
	}
	b = binary.AppendVarint(b, int64(s.session.Request.Number-before.session.Request.Number))
	return binary.AppendUvarint(b, uint64(s.session.Attempt))
}

// decoder reads a segment.
type decoder struct {
	b    []byte
	last statement
	bad  bool
}

func newDecoder(segment []byte) (*decoder, error) {
	if len(segment) == 0 || segment[0] != segmentVersion {
		return nil, fmt.Errorf("cluster: segment of %d bytes: not of version %d: %w", len(segment), segmentVersion, ErrRecord)
	}
	return &decoder{b: segment[1:]}, nil
}

// next returns the next statement, and false at the end or where the bytes are
// not a statement; err tells the two apart.
func (d *decoder) next() (statement, bool) {
	if len(d.b) == 0 || d.bad {
		return statement{}, false
	}
	flags := d.b[0]
	d.b = d.b[1:]
	s := statement{state: State{outcome.State(flags&3) + 1, flags&drainedBit != 0}, first: flags&firstBit != 0}
	s.session.Request.Endpoint, s.epoch = d.last.session.Request.Endpoint, d.last.epoch
	if flags&sameBit == 0 {
		s.session.Request.Endpoint = d.text(d.uvarint())
		s.epoch = Revision(d.uvarint())
	}
	delta, n := binary.Varint(d.b)
	d.skip(n)
	s.session.Request.Number = d.last.session.Request.Number + uint64(delta)
	attempt := d.uvarint()
	s.session.Attempt = uint32(attempt)
	if d.bad || attempt == 0 || attempt > 1<<32-1 || s.session.Request.Endpoint == "" || flags >= sameBit<<1 || s.state.Outcome == outcome.Active {
		d.bad = true
		return statement{}, false
	}
	d.last = s
	return s, true
}

func (d *decoder) err() error {
	if !d.bad {
		return nil
	}
	return fmt.Errorf("cluster: segment: a statement does not parse: %w", ErrRecord)
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad, n = true, 0
	}
	d.b = d.b[n:]
}

func (d *decoder) text(n uint64) string {
	if d.bad || n > maxName || n > uint64(len(d.b)) {
		d.bad = true
		return ""
	}
	// The endpoint of most statements is the one of the statement before.
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}
