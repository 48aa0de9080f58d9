// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/check"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// TestMutate: a mutant that a property must find is found by it, one that changes
// nothing is told apart, each has its place, and the system is as before at the end.
func TestMutate(t *testing.T) {
	sys := benchSystem(t)
	before := explore(t, sys, check.Options{Replicas: 1})
	r, err := check.Mutate(t.Context(), sys, nil, check.Options{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]struct {
		fate check.Fate
		by   string
	}{
		"action publish: without condition outcome != CANCELLED":  {check.Killed, "I4"},
		"action release: without condition !invalid":              {check.Killed, "I5"},
		"machine bench_claim: doubt in DRAINED is ignored":        {check.Killed, ""},
		"machine bench_claim: publish in DRAINED is a conflict":   {check.Equivalent, ""},
		"machine bench_claim: settle in IN_DOUBT goes to DRAINED": {check.Killed, "I6"},
		"action begin: without condition outcome != CANCELLED":    {check.Survived, ""},
		"action finish: without pend = false":                     {check.Killed, "L"},
	} {
		m := find(r, what)
		switch {
		case m == nil:
			t.Errorf("no mutant %s", what)
		case m.Fate != want.fate || want.by != "" && m.By != want.by:
			t.Errorf("%s: fate %d by %q", what, m.Fate, m.By)
		case m.Pos.Line == 0 || !strings.HasSuffix(m.File, ".yaml"):
			t.Errorf("%s stands at %s:%v", what, m.File, m.Pos)
		}
	}
	if n := r.Killed() + r.Equivalent() + r.Survived() + r.Explained(); n != len(r.Mutants) || n < 100 {
		t.Errorf("%d of %d mutants have a fate", n, len(r.Mutants))
	}
	after := explore(t, sys, check.Options{Replicas: 1})
	if after.States != before.States || after.Edges != before.Edges {
		t.Error("the system is not what it was before")
	}
	part, err := check.Mutate(t.Context(), sys, nil, check.Options{Replicas: 1, Pick: func(i int) bool { return i%10 == 3 }})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range part.Mutants {
		if whole := r.Mutants[10*i+3]; m != whole {
			t.Errorf("change %d of a part is %+v, of the whole %+v", i, m, whole)
		}
	}
	if want := (len(r.Mutants) + 6) / 10; len(part.Mutants) != want {
		t.Errorf("the part has %d changes, want %d", len(part.Mutants), want)
	}
	sys.Survivors = []load.Survivor{{Change: "action begin: without *", Why: "a begin alone shows nothing"}}
	if r, err = check.Mutate(t.Context(), sys, nil, check.Options{Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	if m := find(r, "action begin: without condition outcome != CANCELLED"); m.Fate != check.Explained {
		t.Errorf("an explained survivor has fate %d", m.Fate)
	}
}

func find(r *check.Mutation, what string) *check.Mutant {
	for i := range r.Mutants {
		if r.Mutants[i].What == what {
			return &r.Mutants[i]
		}
	}
	return nil
}
