// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/proptest/model"
)

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.String()
	}
	return out
}

func ownershipWord(e report.Evidence) string { return strings.ToLower(e.String()) }

// reached is what a number of lives came by.
type reached map[string]int

func (r reached) add(w *world) {
	for cell, n := range w.model.Cells {
		r["cell "+cell.State+" "+cell.Event] += n
	}
	for _, l := range w.script.steps {
		r["error "+none(l.kind)]++
	}
	for _, o := range append(slices.Clone(w.model.Sessions), w.model.Over()...) {
		r[o.Side+" outcome "+o.Outcome]++
		r["cause "+none(o.Cause)]++
		r["origin "+none(o.Origin)]++
		for _, p := range o.Pieces {
			r["gate "+p.Gate]++
			if p.Selected {
				r["selected"]++
			}
			if p.Invalid {
				r["invalid"]++
			}
		}
	}
	for _, m := range w.model.Waiting {
		r[m.Side+" message "+m.Label]++
	}
	r["admission "+w.model.Admission()]++
	r["steps"] += w.steps
}

// wanted is all that the lives must come by: every cell, every kind of error,
// every end and every message. A machine that never gets there proves nothing.
func wanted() (out []string) {
	for _, s := range model.Claim.States {
		for _, e := range model.Claim.Events {
			out = append(out, "cell "+s+" "+e)
		}
	}
	for _, l := range []struct {
		what  string
		words []string
	}{
		{"error", []string{"none", model.Invalid, model.Stale, model.Fatal, model.Closed, model.Conflict, model.Reject, model.Refused, model.Capacity}},
		{"receive outcome", []string{"ACTIVE", "SUCCEEDED", "FAILED", "CANCELLED"}},
		{"send outcome", []string{"ACTIVE", "SUCCEEDED", "FAILED", "CANCELLED"}},
		{"cause", []string{"cancel", "failed", "doubt", "conflict", "publication", "not_submitted", "fenced", "timeout", "shutdown", "reason"}},
		{"origin", []string{"local", "peer", "timeout"}},
		{"gate", model.Gate.States},
		{"send message", []string{"OK", "FAILED", "IN_DOUBT", "FAILED_QUIESCED", "CANCEL_SESSION", "SESSION_QUIESCED"}},
		{"receive message", []string{"CANCEL_SESSION"}},
		{"admission", []string{"OPEN", "QUARANTINED", "CLOSED", "FATAL"}},
	} {
		for _, w := range l.words {
			out = append(out, l.what+" "+w)
		}
	}
	return append(out, "selected", "invalid")
}

// unreachable are the cells that no call comes by: withdraw is offered only where
// it moves, and an acknowledgement only once every claim is published or withdrawn.
// TestMachines walks them.
func unreachable(cell string) bool {
	return strings.HasSuffix(cell, " withdraw") || cell == "cell UNPUBLISHED acked"
}

// TestReach lives the same lives each time, so that it never fails by chance. A change
// of a call gives other lives: it lives on until the rarest cell was come by, and gives
// up late.
func TestReach(t *testing.T) {
	seen := make(reached)
	owners := rapid.Custom(func(t *rapid.T) *world { return liveOwner(t).world })
	houses := rapid.Custom(func(t *rapid.T) *world { return liveRegistry(t).world })
	missing := slices.DeleteFunc(wanted(), unreachable)
	for seed := 0; seed < 8000 && len(missing) > 0; seed++ {
		seen.add(owners.Example(seed))
		seen.add(houses.Example(seed))
		missing = slices.DeleteFunc(missing, func(w string) bool { return seen[w] > 0 })
	}
	for _, w := range missing {
		t.Errorf("no life came by %q", w)
	}
	if t.Failed() || testing.Verbose() {
		for _, k := range slices.Sorted(maps.Keys(seen)) {
			t.Logf("%8d %s", seen[k], k)
		}
	}
}
