// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"strings"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// Op is what the cancelled operation does. The first process posts it and the
// second one is stopped; what differs is whose memory shows the hazard.
type Op string

// The two operations.
const (
	// Write: the source, here, is reused, and the peer gets the next request's bytes.
	Write Op = "write"
	// Read: the destination, here, is reused, and late bytes of the cancelled
	// request land over what the next one has put into it.
	Read Op = "read"
)

// String returns WRITE or READ.
func (o Op) String() string { return strings.ToUpper(string(o)) }

// us and peer are the agents' names: data goes from prefill to decode.
func (o Op) us() string {
	if o == Read {
		return receiverName
	}
	return senderName
}

func (o Op) peer() string {
	if o == Read {
		return senderName
	}
	return receiverName
}

func (o Op) raw() nixlc.Op {
	if o == Read {
		return nixlc.OpRead
	}
	return nixlc.OpWrite
}

// fillSource makes the content that the operation moves. It is marked so that it
// counts as foreign wherever it ends up in memory that is not its request's.
func (o Op) fillSource(buf []byte, seed uint64) {
	if o == Read {
		blocks.FillForeign(buf, seed)
		return
	}
	blocks.FillOwn(buf, seed)
}

// fillNext is what the next request puts into the memory that it was given.
func (o Op) fillNext(buf []byte, seed uint64) {
	if o == Read {
		blocks.FillOwn(buf, seed)
		return
	}
	blocks.FillForeign(buf, seed)
}

// Words says what is counted, for tables and pictures.
type Words struct {
	Foreign      string // "foreign bytes", and where
	Own, Another string // whose bytes are in the buffer
	Buffer       string
	Says         string // after a number of bytes
}

// Words returns the words for the operation.
func (o Op) Words() Words {
	if o == Read {
		return Words{
			Foreign: "late bytes in reused memory", Own: "of the next request", Another: "of the cancelled one",
			Buffer: "our destination, one cell for each descriptor", Says: "of the cancelled request landed in the next one's memory",
		}
	}
	return Words{
		Foreign: "foreign bytes at the peer", Own: "of this request", Another: "of another",
		Buffer: "the peer's buffer, one cell for each descriptor", Says: "of another request arrived at the peer",
	}
}
