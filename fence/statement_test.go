// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
)

// What is demanded on each transport, and that a statement without one of the facts,
// whichever it is, proves nothing of that memory.
func TestStatementCoversTheDemand(t *testing.T) {
	const process, context, region = fence.ProcessGone, fence.ContextDestroyed, fence.RegionInvalid
	for _, tc := range []struct {
		name         string
		of           fence.Case
		own, passive bool
		want         []fence.Fact
	}{
		{"cma passive", fence.Case{Limits: backend.Limits{Transport: "nixl/cma"}}, false, true, []fence.Fact{process}},
		{"cma own", fence.Case{Limits: backend.Limits{Transport: "nixl/cma"}}, true, false, []fence.Fact{region}},
		{"cma all", fence.Case{Limits: backend.Limits{Transport: "nixl/cma"}}, true, true, []fence.Fact{process, region}},
		{"tcp passive", fence.Case{Limits: backend.Limits{Transport: "nixl/tcp"}}, false, true, []fence.Fact{process, region}},
		{"tcp own", fence.Case{Limits: backend.Limits{Transport: "nixl/tcp"}}, true, false, []fence.Fact{region}},
		{"not measured, passive", fence.Case{Limits: backend.Limits{Transport: "nixl/auto"}}, false, true, []fence.Fact{process, context, region}},
		{"not measured, own", fence.Case{Limits: backend.Limits{Transport: "nixl/auto"}}, true, false, []fence.Fact{context, region}},
		{"a user's own", fence.Case{Limits: backend.Limits{Transport: "mine"}}, true, true, []fence.Fact{process, context, region}},
		{"a device over cma", fence.Case{Limits: backend.Limits{Transport: "nixl/cma"}, Device: true}, false, true, []fence.Fact{process, context, region}},
		{"a local copy", fence.Case{Limits: backend.Limits{Transport: "nixl/tcp"}, Local: true}, true, false, []fence.Fact{context}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := fence.Demand(tc.of, tc.own, tc.passive); !slices.Equal(got, tc.want) {
				t.Errorf("demands %v, want %v", got, tc.want)
			}
			said := fence.Statement{Who: "ops", Checked: map[fence.Fact]string{}, Own: tc.own, Passive: tc.passive}
			for _, f := range tc.want {
				said.Checked[f] = "looked"
			}
			v, err := fence.Judge(tc.of, said)
			if err != nil || v.Own.Proven != tc.own || v.Passive.Proven != tc.passive {
				t.Fatalf("all of it: %v, %v", v, err)
			}
			for _, f := range tc.want {
				less := fence.Statement{Who: "ops", Checked: map[fence.Fact]string{process: "", context: "", region: ""}, Own: tc.own, Passive: tc.passive}
				for _, g := range tc.want {
					if g != f {
						less.Checked[g] = "looked"
					}
				}
				v, err := fence.Judge(tc.of, less)
				if v.Own.Proven && v.Passive.Proven == tc.passive && tc.own || err == nil && tc.own != tc.passive {
					t.Errorf("without %v: %v, %v", f, v, err)
				}
			}
		})
	}
}

// What was seen of the process need not be stated, and an agent's end says nothing of
// a local copy, nor, where a device's memory is registered, of a transport.
func TestSeenAndStated(t *testing.T) {
	cma, auto := backend.Limits{Transport: "nixl/cma", OwnFence: true}, backend.Limits{Transport: "nixl/auto"}
	gone := exited(t)
	rest := fence.Statement{Who: "ops", Checked: map[fence.Fact]string{fence.ContextDestroyed: "card reset", fence.RegionInvalid: "card reset"}, Passive: true}
	if v, err := fence.Judge(fence.Case{Limits: auto}, gone, rest); err != nil || !v.Passive.Proven || v.Own.Proven {
		t.Errorf("seen and stated: %v, %v", v, err)
	}
	if v, err := fence.Judge(fence.Case{Limits: auto}, rest); !errors.Is(err, fence.ErrNotProven) || !strings.Contains(err.Error(), "does not cover process (") {
		t.Errorf("stated alone: %v, %v", v, err)
	}
	if v, err := fence.Judge(fence.Case{Limits: cma}, gone); err != nil || !v.Passive.Proven {
		t.Errorf("cma: %v, %v", v, err)
	}
	for name, c := range map[string]fence.Case{"device": {Limits: cma, Device: true}, "local": {Limits: cma, Local: true}} {
		if v, err := fence.Judge(c, gone, destroyed(t, cma)); !errors.Is(err, fence.ErrNotProven) || v.Own.Proven || v.Passive.Proven {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

func TestFactNames(t *testing.T) {
	for _, f := range fence.AllFacts() {
		if got, err := fence.ParseFact(f.String()); got != f || err != nil || f.Meaning() == f.String() {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := fence.ParseFact("power"); !errors.Is(err, fence.ErrEvidence) {
		t.Errorf("got %v", err)
	}
	if fence.Fact(0).String() != fence.Fact(9).String() {
		t.Error("an invalid fact has a name")
	}
}
