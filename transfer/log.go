// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"log/slog"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// logged returns what writes a line of Log for each event, nil for no log.
func (c *Config) logged() func(Event) {
	log := c.Log
	if log == nil {
		return nil
	}
	return func(ev Event) { logEvent(log, ev) }
}

// logEvent writes one line, with the event's own time. It runs on the
// timeline's goroutine, so a slow handler delays no transfer.
func logEvent(log *slog.Logger, ev Event) {
	if ev.Dropped > 0 {
		log.Warn("events lost, since the log handler was slow", "endpoint", ev.Endpoint, "events", ev.Dropped)
	}
	ctx := context.Background()
	level, message, attrs := described(ev)
	if message == "" || !log.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(ev.At, level, message, 0)
	r.AddAttrs(slog.String("endpoint", ev.Endpoint))
	if ev.Side != 0 {
		r.AddAttrs(slog.String("side", ev.Side.String()))
	}
	r.AddAttrs(attrs()...)
	if ev.Effect != nil {
		r.AddAttrs(slog.Uint64("seq", ev.Effect.Stamped().Seq))
	}
	_ = log.Handler().Handle(ctx, r) // a log that cannot be written must not stop a transfer
}

// described returns an event's level and line. The attributes come from a
// function, so that a level that is off costs no formatting. An empty message
// is no line: the FATAL latch has one of its own, which waits for nobody.
func described(ev Event) (level slog.Level, message string, attrs func() []slog.Attr) {
	switch f := ev.Effect.(type) {
	case nil:
		return slog.LevelDebug, ev.Note, func() []slog.Attr { return sessionAttr(ev.Session) }
	case *ownership.ClaimMoved:
		return claimLevel(f.To), "claim moved", func() []slog.Attr {
			return append(pieceAttr(f.Claim().Piece), slog.String("accessor", string(f.Claim().Accessor)),
				slog.String("event", f.Event.String()), slog.String("from", f.From.String()), slog.String("to", f.To.String()))
		}
	case *ownership.GateMoved:
		return slog.LevelDebug, "gate moved", func() []slog.Attr {
			return append(pieceAttr(f.Piece), slog.String("from", f.From.String()), slog.String("to", f.To.String()))
		}
	case *ownership.PieceEnded:
		return slog.LevelDebug, "piece ended", func() []slog.Attr {
			return append(pieceAttr(f.Piece), answerAttr(f.Outcome, f.Cause, f.Origin)...)
		}
	case *ownership.PieceInvalid:
		return slog.LevelError, "piece invalid: contradictory evidence", func() []slog.Attr { return pieceAttr(f.Piece) }
	case *ownership.SessionEnded:
		return slog.LevelInfo, "session ended", func() []slog.Attr {
			return append(sessionAttr(f.Session), answerAttr(f.Outcome, f.Cause, f.Origin)...)
		}
	case *ownership.SessionSettled:
		return slog.LevelDebug, "session settled", func() []slog.Attr { return sessionAttr(f.Session) }
	case *ownership.SessionUnsettled:
		return slog.LevelWarn, "session unsettled", func() []slog.Attr { return sessionAttr(f.Session) }
	case *ownership.SessionClosed:
		return slog.LevelDebug, "session closed", func() []slog.Attr { return sessionAttr(f.Session) }
	case *ownership.Released:
		return slog.LevelInfo, "memory released", func() []slog.Attr {
			return append(pieceAttr(f.Piece), slog.String("region", f.Region))
		}
	case *ownership.Queued:
		return slog.LevelDebug, "report queued", func() []slog.Attr { return reportAttr(f.Outgoing) }
	case *ownership.TakenBack:
		return slog.LevelDebug, "report taken back", func() []slog.Attr { return reportAttr(f.Outgoing) }
	case *ownership.AdmissionChanged:
		return admissionLevel(f.To), "admission changed", func() []slog.Attr {
			return []slog.Attr{slog.String("from", f.From.String()), slog.String("to", f.To.String())}
		}
	case *ownership.FatalLatched:
		return slog.LevelError, "", nil
	}
	return slog.LevelDebug, ev.Effect.String(), func() []slog.Attr { return nil }
}

func claimLevel(to claim.State) slog.Level {
	if to == claim.InDoubt {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func admissionLevel(to ownership.Admission) slog.Level {
	switch to {
	case ownership.AdmissionQuarantined:
		return slog.LevelWarn
	case ownership.AdmissionFatal:
		return slog.LevelError
	}
	return slog.LevelInfo
}

func sessionAttr(s ownership.SessionName) []slog.Attr {
	if s == (ownership.SessionName{}) {
		return nil
	}
	return []slog.Attr{slog.String("session", s.String())}
}

func pieceAttr(p ownership.PieceName) []slog.Attr {
	return append(sessionAttr(p.Session), slog.String("piece", p.Piece))
}

func answerAttr(o outcome.State, cause ownership.Cause, origin ownership.Origin) []slog.Attr {
	a := []slog.Attr{slog.String("outcome", o.String())}
	if cause != "" {
		a = append(a, slog.String("cause", string(cause)), slog.String("origin", origin.String()))
	}
	return a
}

func reportAttr(o ownership.Outgoing) []slog.Attr {
	return append(sessionAttr(o.Message.Session()), slog.String("to", string(o.To.Accessor)), slog.String("report", o.Message.Label()))
}
