// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "strconv"

// Kind is the type of a message. The numbers are stable: carriers send them.
type Kind uint8

// Hello, Receipt and Goodbye belong to the stream; the others are the messages of
// contract section 8, in the words of a WRITE: with a READ the receiver, who asks,
// has the data, and the sender, who posts the operation, takes it.
const (
	_                   Kind = iota
	KindHello                // first message of each direction
	KindRequestData          // receiver to sender: write these bytes there
	KindResult               // sender to receiver: how one claim ended
	KindCancelSession        // either way: this session failed or was cancelled
	KindSessionQuiesced      // sender to receiver: nothing of this session is held here
	KindReceipt              // either way: everything up to this number has arrived
	KindGoodbye              // either way: this life has ended in good order
	KindConfirmed            // receiver to sender: the end of this operation was seen here
)

var kindNames = [...]string{
	KindHello: "HELLO", KindRequestData: "REQUEST_DATA", KindResult: "RESULT",
	KindCancelSession: "CANCEL_SESSION", KindSessionQuiesced: "SESSION_QUIESCED", KindReceipt: "RECEIPT",
	KindGoodbye: "GOODBYE", KindConfirmed: "CONFIRMED",
}

// String returns the name that the contract gives the message.
func (k Kind) String() string { return name(kindNames[:], int(k), "kind") }

// Evidence is what a RESULT says about one claim. The numbers are stable.
type Evidence uint8

// The four statements of contract section 8.
const (
	_              Evidence = iota
	OK                      // access ended, delivered
	Failed                  // access ended, or never began; not delivered
	InDoubt                 // access may not have ended
	FailedQuiesced          // late proof that access has ended; not delivered
)

var evidenceNames = [...]string{OK: "ok", Failed: "failed", InDoubt: "in_doubt", FailedQuiesced: "failed_quiesced"}

// String returns the name that the contract gives the evidence.
func (e Evidence) String() string { return name(evidenceNames[:], int(e), "evidence") }

// IsValid reports whether e is one of the four statements.
func (e Evidence) IsValid() bool { return e >= OK && e <= FailedQuiesced }

// Side is the side of a transfer that sent a message. The numbers are stable.
type Side uint8

// The two sides of a transfer.
const (
	_       Side = iota
	Receive      // published the addresses of its memory
	Send         // posts the operations
)

var sideNames = [...]string{Receive: "receive", Send: "send"}

// String returns "receive" or "send".
func (s Side) String() string { return name(sideNames[:], int(s), "side") }

// IsValid reports whether s is one of the two sides.
func (s Side) IsValid() bool { return s == Receive || s == Send }

// Direction is what the operation that answers a REQUEST_DATA does. The numbers
// are stable, and those of package backend.
type Direction uint8

// The two directions, seen from who posts the operation.
const (
	_     Direction = iota
	Write           // it writes the segments
	Read            // it reads the segments
)

var directionNames = [...]string{Write: "WRITE", Read: "READ"}

// String returns "WRITE" or "READ".
func (d Direction) String() string { return name(directionNames[:], int(d), "direction") }

// IsValid reports whether d is one of the two directions.
func (d Direction) IsValid() bool { return d == Write || d == Read }

// MemoryKind is whose memory it is. The numbers are stable, and those of package
// backend; DRAM is the zero value.
type MemoryKind uint8

// The kinds of memory.
const (
	DRAM MemoryKind = iota // the host's
	VRAM                   // a GPU's
)

// String returns "DRAM" or "VRAM".
func (k MemoryKind) String() string {
	if k == DRAM {
		return "DRAM"
	}
	return name([]string{VRAM: "VRAM"}, int(k), "memory kind")
}

// IsValid reports whether k is one of the two kinds.
func (k MemoryKind) IsValid() bool { return k <= VRAM }

func name(names []string, i int, what string) string {
	if i > 0 && i < len(names) {
		return names[i]
	}
	return "invalid " + what + " " + strconv.Itoa(i)
}
