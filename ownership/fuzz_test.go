// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
)

// FuzzHostileNames gives evidence whose every number and name comes from
// outside: nothing of it may panic or break an invariant.
func FuzzHostileNames(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), "a", "p", uint64(1), uint32(1), int64(0))
	f.Add([]byte{}, "local", "", uint64(1<<63), uint32(0), int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, accessor, piece string, sequence uint64, attempt uint32, at int64) {
		h := newHarness(t)
		in, out := h.open(1, Receive, "a", "b"), h.open(2, Send, "a")
		h.publish(in)
		h.publish(out)
		var seed [8]byte
		copy(seed[:], data)
		n := binary.LittleEndian.Uint64(seed[:])
		c := h.claim([]PieceName{in, out}[n%2], "a")
		for i, change := range []func(){
			func() { c.Accessor = Accessor(accessor) },
			func() { c.Piece.Piece = piece },
			func() { c.Sequence = sequence },
			func() { c.Piece.Session.Attempt = attempt },
			func() { c.Incarnation = Incarnation(append(seed[:], seed[:]...)) },
			func() { c.Owner = c.Incarnation },
		} {
			if n>>i&2 == 2 {
				change()
			}
		}
		h.now = time.Duration(at)
		from := Member{Accessor(accessor), c.Incarnation, sequence}
		h.did(h.reg.Report(h.now, PeerReport{Claim: c, From: c.Accessor, Evidence: Evidence(n >> 8)}))
		h.did(h.reg.Operation(h.now, OperationReport{Claim: c, Status: operation.Status(n >> 16)}))
		h.did(h.reg.Local(h.now, c, LocalEvent(n>>24)))
		h.did(h.reg.Ack(h.now, c.Piece.Session, from))
		h.did(h.reg.Requested(h.now, c.Piece.Session, from))
		_, effects, err := h.reg.Cancel(h.now, CancelSpec{Session: c.Piece.Session, Origin: Origin(n >> 32 & 3), From: from, FromSide: Side(n >> 40)})
		h.did(effects, err)
		h.did(h.reg.Fence(h.now, FenceSpec{Accessor: from.Accessor, Incarnation: from.Incarnation, Scope: Scope(n >> 48)}))
		h.did(h.reg.Gone(h.now, from.Accessor, from.Incarnation))
	})
}
