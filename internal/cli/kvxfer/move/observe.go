// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"fmt"
	"regexp"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// operationNote is how an endpoint's note about an own operation begins.
var operationNote = regexp.MustCompile(`^operation \S+ of \S+ #\d+:? (.*)$`)

// observed turns an endpoint's event into a line of the timeline.
func observed(side string, ev transfer.Event) Event {
	e := Event{Time: ev.At, Side: side, What: "endpoint", Event: ev.Note, Text: ev.String(), Dropped: ev.Dropped}
	if m := operationNote.FindStringSubmatch(ev.Note); m != nil {
		e.What, e.Event = "operation", m[1] // its name is the claim's, which the line above has
	}
	if ev.Session != (ownership.SessionName{}) {
		e.Session = ev.Session.String()
	}
	if ev.Effect != nil {
		e.Seq = ev.Effect.Stamped().Seq
		describe(&e, ev.Effect)
	}
	return e
}

// describe splits an effect into the columns of a timeline.
func describe(e *Event, effect ownership.Effect) {
	switch f := effect.(type) {
	case *ownership.ClaimMoved:
		e.What, e.Event = "claim of "+string(f.Claim().Accessor), f.Event.String()
		e.From, e.To = f.From.String(), f.To.String()
	case *ownership.GateMoved:
		e.What, e.From, e.To = "gate", f.From.String(), f.To.String()
	case *ownership.PieceEnded:
		e.What, e.Event, e.To = "piece", because(f.Outcome, f.Cause, f.Origin), f.Outcome.String()
	case *ownership.PieceInvalid:
		e.What, e.To = "piece", "INVALID"
	case *ownership.SessionEnded:
		e.What, e.Event, e.To = "session", because(f.Outcome, f.Cause, f.Origin), f.Outcome.String()
	case *ownership.SessionSettled:
		e.What, e.To = "session", "settled"
	case *ownership.SessionUnsettled:
		e.What, e.To = "session", "unsettled"
	case *ownership.SessionClosed:
		e.What, e.To = "session", "closed"
	case *ownership.Released:
		e.What, e.Event, e.To = "memory", "region "+f.Region, "RELEASED"
	case *ownership.Queued:
		e.What, e.Event = "report to "+string(f.To.Accessor), f.Message.Label()
	case *ownership.TakenBack:
		e.What, e.Event = "report to "+string(f.To.Accessor), "taken back: "+f.Message.Label()
	case *ownership.AdmissionChanged:
		e.What, e.From, e.To = "admission", f.From.String(), f.To.String()
	case *ownership.FatalLatched:
		e.What, e.Event, e.To = "registry", "grace is over, no proof", "FATAL"
	default:
		e.What, e.Event = "core", effect.String()
	}
}

func because(o outcome.State, cause ownership.Cause, origin ownership.Origin) string {
	if o == outcome.Succeeded {
		return ""
	}
	return fmt.Sprintf("cause %v, %v", cause, origin)
}
