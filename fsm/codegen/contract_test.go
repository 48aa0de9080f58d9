// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/member"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/gen/receive"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/send"
)

// TestContractSystemsAgree: on random walks, the project's own systems of one piece and
// of one peer do in Go what their specs say.
func TestContractSystemsAgree(t *testing.T) {
	set, err := load.Dir("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for walk := range 200 {
		n := 1 + walk%4
		need, local := 1+rng.IntN(n), rng.IntN(2)
		r, err := receive.New(n, need, local == 1)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, rng, &generated{sys: set.Lookup("receive").(*load.System), members: n, ptr: reflect.ValueOf(&r),
			effect: reflect.TypeFor[receive.Effect](), start: map[string]int{"need": need, "has_local": local}})
		s, err := send.New(n, local == 1)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, rng, &generated{sys: set.Lookup("send").(*load.System), members: n, ptr: reflect.ValueOf(&s),
			effect: reflect.TypeFor[send.Effect](), start: map[string]int{"has_local": local}})
		side := rng.IntN(2)
		m, err := member.New(member.Side(side + 1))
		if err != nil {
			t.Fatal(err)
		}
		agree(t, rng, &generated{sys: set.Lookup("member").(*load.System), members: 1, ptr: reflect.ValueOf(&m),
			effect: reflect.TypeFor[member.Effect](), start: map[string]int{"side": side}})
	}
}

// TestContractSystemsAllocate: the life of a piece allocates nothing in its system.
func TestContractSystemsAllocate(t *testing.T) {
	received, sent := make([]receive.Effect, 0, 64), make([]send.Effect, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		r, _ := receive.New(8, 8, false)
		_, _ = r.Seal(false, false, received)
		_, _ = r.Finish(received)
		for i := range 8 {
			_, _ = r.Hear(i, report.EvidenceOK, received)
		}
		_, _ = r.Hear(0, report.EvidenceFailedQuiesced, received) // contradicts
		_, _ = r.Release(false, received)
		s, _ := send.New(8, false)
		_, _ = s.Seal(false, false, sent)
		for i := range 8 {
			_, _ = s.Operate(i, operation.StatusSubmitting, false, sent)
			_, _ = s.Operate(i, operation.StatusDone, false, sent)
		}
		_, _ = s.Finish(sent)
		if r.Claims(0) != claim.Drained || s.Claims(7) != claim.Drained {
			t.Error("the lives did not come to their ends")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
