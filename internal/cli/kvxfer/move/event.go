// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"slices"
	"time"
)

// The sides of a transfer, as events name them, and this command, which does
// things to them.
const (
	SideSender   = "sender"
	SideReceiver = "receiver"
	SideCommand  = "command"
)

// Event is one line of a timeline: what an owner, or a process, did.
type Event struct {
	Time    time.Time `json:"time"`
	Side    string    `json:"side"`
	Seq     uint64    `json:"seq,omitempty"`     // order within one side
	Session string    `json:"session,omitempty"` // endpoint/number@attempt
	What    string    `json:"what"`              // claim, gate, piece, session, outbox, admission, process
	Event   string    `json:"event,omitempty"`   // what happened to it
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Text    string    `json:"text,omitempty"`    // the whole, in the core's words
	Dropped int       `json:"dropped,omitempty"` // events lost before this one
}

// State is what the event left behind: "A → B", or "B".
func (e Event) State() string {
	if e.From != "" && e.To != "" {
		return e.From + " → " + e.To
	}
	return e.From + e.To
}

// Timeline merges the events of all sides by time. The events of one side keep
// their order whatever the clock says of them.
func Timeline(events []Event) []Event {
	var names []string
	sides := map[string][]Event{}
	for _, e := range events {
		if sides[e.Side] == nil {
			names = append(names, e.Side)
		}
		sides[e.Side] = append(sides[e.Side], e)
	}
	out := make([]Event, 0, len(events))
	for len(out) < len(events) {
		first := ""
		for _, n := range names {
			if len(sides[n]) > 0 && (first == "" || sides[n][0].Time.Before(sides[first][0].Time)) {
				first = n
			}
		}
		out = append(out, sides[first][0])
		sides[first] = sides[first][1:]
	}
	return out
}

// Of keeps the events of one session and those of no session.
func Of(session string, events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Session != "" && e.Session != session })
}
