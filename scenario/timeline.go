// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// Tell returns one effect in one line, in the names of a scenario file: r1 for
// its session, kv0@2 for the second attempt of its piece.
func Tell(e ownership.Effect) string {
	switch e := e.(type) {
	case *ownership.ClaimMoved:
		return fmt.Sprintf("%s %s: %v → %v", pieceText(e.Claim().Piece), e.Claim().Accessor, e.From, e.To)
	case *ownership.GateMoved:
		return fmt.Sprintf("%s: gate %v → %v", pieceText(e.Piece), e.From, e.To)
	case *ownership.PieceEnded:
		return fmt.Sprintf("%s: %v", pieceText(e.Piece), e.Outcome)
	case *ownership.PieceInvalid:
		return pieceText(e.Piece) + ": invalid for good"
	case *ownership.SessionEnded:
		if e.Outcome == outcome.Succeeded {
			return fmt.Sprintf("%s: %v", sessionText(e.Session), e.Outcome)
		}
		return fmt.Sprintf("%s: %v, cause %v, origin %v", sessionText(e.Session), e.Outcome, e.Cause, e.Origin)
	case *ownership.SessionSettled:
		return sessionText(e.Session) + ": settled"
	case *ownership.SessionUnsettled:
		return sessionText(e.Session) + ": no longer settled"
	case *ownership.SessionClosed:
		return sessionText(e.Session) + ": closed"
	case *ownership.Released:
		return fmt.Sprintf("%s: region %s released", pieceText(e.Piece), e.Region)
	case *ownership.Queued:
		return fmt.Sprintf("to %s: %s", e.To.Accessor, e.Message.Label())
	case *ownership.TakenBack:
		return fmt.Sprintf("to %s: %s taken back", e.To.Accessor, e.Message.Label())
	case *ownership.AdmissionChanged:
		return fmt.Sprintf("admission %v → %v", e.From, e.To)
	case *ownership.FatalLatched:
		return fmt.Sprintf("FATAL: %s not settled at %v", sessionText(e.Containment.Session), e.Containment.Deadline)
	}
	return e.String()
}

// sessionText is the inverse of requestOf, with the attempt from the second on.
func sessionText(n ownership.SessionName) string {
	id, bare := strings.CutSuffix(n.Request.Endpoint, ":")
	if !bare {
		id += strconv.FormatUint(n.Request.Number, 10)
	}
	return attemptText(id, n.Attempt)
}

func pieceText(n ownership.PieceName) string { return attemptText(n.Piece, n.Session.Attempt) }

func attemptText(id string, attempt uint32) string {
	if attempt == 1 {
		return id
	}
	return id + "@" + strconv.FormatUint(uint64(attempt), 10)
}
