// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package hazard runs one cancelled transfer twice on the real library, with a
// second process that is stopped before the post: once as engines do today,
// and once owned. It counts the bytes of one request that end up in the memory
// of another: at the peer of a WRITE, in our own destination of a READ.
//
// The first half is the reason for this project and is unsafe on purpose. It
// alone calls NIXL's raw symbols; nothing that a library user can import
// releases a transfer in flight.
package hazard

import (
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
)

// Phase is a moment that both halves go through, so that they can be shown
// beside each other.
type Phase string

// The phases, in the order in which they happen.
const (
	Primed    Phase = "first transfer"
	Stopped   Phase = "peer stopped"
	Posted    Phase = "post"
	Cancelled Phase = "cancel"
	Released  Phase = "the handle"
	Reused    Phase = "the memory"
	Overdue   Phase = "our wait ends"
	Continued Phase = "peer continues"
	Ended     Phase = "the operation"
	Closed    Phase = "close"
	Outcome   Phase = "outcome"
)

// Phases lists them in order.
var Phases = []Phase{Primed, Stopped, Posted, Cancelled, Released, Reused, Overdue, Continued, Ended, Closed, Outcome}

// Step is one thing that happened.
type Step struct {
	At    time.Duration `json:"at_ns"` // since the half began
	Phase Phase         `json:"phase"`
	Text  string        `json:"text"`
}

// Half is one of the two transfers.
type Half struct {
	Steps []Step `json:"steps"`
	// Arrived is what the destination held after everything had settled: the
	// peer's buffer for a WRITE, ours for a READ.
	Arrived blocks.Origins `json:"arrived"`
	// Map is the same for each descriptor, in order.
	Map []blocks.Origins `json:"map"`
	// Outcome is what the caller was told at the end.
	Outcome string `json:"outcome"`
	// InFlight says whether the operation was still running when it was cancelled.
	InFlight bool `json:"in_flight"`
}

// Pair is one run of both halves.
type Pair struct {
	Today Half `json:"today"`
	Owned Half `json:"owned"`
}

// Report is what the command found out.
type Report struct {
	Library   string `json:"library"`
	Version   string `json:"version"`
	Transport string `json:"transport"`
	Op        Op     `json:"op"`
	Bytes     int64  `json:"bytes"`
	Pairs     []Pair `json:"runs"`
}

// Tally sums up one half over all runs.
type Tally struct {
	Runs   int   `json:"runs"`
	Showed int   `json:"showed"` // runs in which foreign bytes arrived
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	Max    int64 `json:"max"`
}

// TallyOf sums up foreign bytes of the half that pick names.
func (r *Report) TallyOf(pick func(Pair) Half) Tally {
	var foreign []int64
	for _, p := range r.Pairs {
		foreign = append(foreign, pick(p).Arrived.Foreign)
	}
	t := Tally{Runs: len(foreign)}
	if t.Runs == 0 {
		return t
	}
	slices.Sort(foreign)
	for _, n := range foreign {
		if n > 0 {
			t.Showed++
		}
	}
	t.Min, t.Median, t.Max = foreign[0], foreign[t.Runs/2], foreign[t.Runs-1]
	if t.Runs%2 == 0 {
		t.Median = (foreign[t.Runs/2-1] + foreign[t.Runs/2]) / 2
	}
	return t
}

// InFlight reports whether an operation was running when it was cancelled, in
// any run.
func (r *Report) InFlight() bool {
	return slices.ContainsFunc(r.Pairs, func(p Pair) bool { return p.Today.InFlight || p.Owned.InFlight })
}

// Today picks the unsafe half.
func Today(p Pair) Half { return p.Today }

// Owned picks the owned half.
func Owned(p Pair) Half { return p.Owned }

// Text is what happened in a phase, or nothing.
func (h *Half) Text(phase Phase) string {
	for _, s := range h.Steps {
		if s.Phase == phase {
			return s.Text
		}
	}
	return ""
}

// recorder writes the steps of one half with their times.
type recorder struct {
	began time.Time
	half  Half
	tell  func(Step)
}

func newRecorder(tell func(Step)) *recorder { return &recorder{began: time.Now(), tell: tell} }

func (r *recorder) step(phase Phase, text string) {
	s := Step{At: time.Since(r.began), Phase: phase, Text: text}
	r.half.Steps = append(r.half.Steps, s)
	if r.tell != nil {
		r.tell(s)
	}
}
