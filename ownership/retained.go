// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"strings"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// Retained is one reason why memory is not given back: a claim without proof,
// a gate whose fan-out did not return, a latch, or a report that waits.
type Retained struct {
	// Piece is the owner; its Piece field is empty where a session as a whole,
	// or a waiting report, is the reason.
	Piece  PieceName
	Region string
	// Accessor and State are of the claim in the way; State is 0 where the
	// reason is not a claim.
	Accessor Accessor
	State    claim.State
	// Why says what it waits for, in words.
	Why string
}

// String returns the reason in one line.
func (r Retained) String() string {
	what := r.Piece.Session.String()
	if r.Piece.Piece != "" {
		what = r.Piece.String() + " in region " + r.Region
	}
	if r.State != 0 {
		return fmt.Sprintf("%s: claim of %s is %v: %s", what, r.Accessor, r.State, r.Why)
	}
	return what + ": " + r.Why
}

func writeRetained(b *strings.Builder, list []Retained) {
	if len(list) == 0 {
		return
	}
	b.WriteString(": ")
	b.WriteString(list[0].String())
	if more := len(list) - 1; more > 0 {
		fmt.Fprintf(b, ", and %d more", more)
	}
}
