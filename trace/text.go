// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"strconv"
	"strings"
)

// text returns an effect in one line. Two effects of a session are the same if
// their texts are.
func (r *Record) text() string {
	switch r.Effect {
	case effectClaim:
		s := "claim " + r.Piece + " of " + r.Accessor + ": " + r.Event
		if r.From != "" {
			s += ": " + r.From + " -> " + r.To
		}
		return s
	case effectGate:
		return "gate " + r.Piece + ": " + r.From + " -> " + r.To
	case effectEnded:
		return "piece " + r.Piece + ": " + r.answerText()
	case effectInvalid:
		return "piece " + r.Piece + ": invalid"
	case effectSession:
		return "session: " + r.answerText()
	case effectSettled:
		return "session: settled"
	case effectUnsettled:
		return "session: unsettled"
	case effectClosed:
		return "session: closed"
	case effectReleased:
		return "piece " + r.Piece + ": released"
	case effectQueued:
		return "outbox " + r.Accessor + ": queued " + r.Message + " " + r.Piece
	case effectTakenBack:
		return "outbox " + r.Accessor + ": taken back " + r.Message + " " + r.Piece
	case effectAdmission:
		return "admission: " + r.From + " -> " + r.To
	case effectFatal:
		return "fatal: not settled at " + strconv.FormatInt(r.Deadline, 10) + " ns"
	case effectReuse:
		return "region " + r.Region + ": reused"
	case effectPiece:
		return "piece " + r.Piece + ": in region " + r.Region
	}
	return r.Effect
}

func (r *Record) answerText() string {
	if r.Cause == "" {
		return r.Outcome
	}
	return r.Outcome + ", cause " + r.Cause + ", origin " + r.Origin
}

// stepText returns a step in one line.
func (r *Record) stepText() string {
	words := []string{r.Step}
	for _, w := range []string{r.Status, r.Evidence, r.Event, r.Scope, r.Region} {
		if w != "" {
			words = append(words, w)
		}
	}
	if r.Accessor != "" {
		words = append(words, "of", r.Accessor)
	}
	if r.Piece != "" {
		words = append(words, "on", r.Piece)
	}
	words = append(words, r.Names...)
	for i := range r.Pieces {
		words = append(words, r.Pieces[i].Name)
	}
	s := strings.Join(words, " ")
	if r.Answer != "" {
		s += ": " + r.Answer
	}
	return s
}
