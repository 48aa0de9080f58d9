// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm"
	"github.com/kvxfer/kvxfer/gen/admission"
	memberrules "github.com/kvxfer/kvxfer/gen/member"
	regionrules "github.com/kvxfer/kvxfer/gen/region"
	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/gen/send"
	"github.com/kvxfer/kvxfer/gen/trigger"
)

// TestNumbersOfSystems: where a number goes to a system, or comes from one, both sides
// mean the same by it.
func TestNumbersOfSystems(t *testing.T) {
	same := func(ours, theirs fmt.Stringer) {
		t.Helper()
		if !strings.EqualFold(ours.String(), theirs.String()) {
			t.Errorf("%v here is %v in the system", ours, theirs)
		}
	}
	for k := KindInvalid; k <= KindCapacity; k++ {
		same(k, fsm.Kind(k))
	}
	for e := OK; e <= FailedQuiesced; e++ {
		same(e, report.Evidence(e))
	}
	for a := AdmissionOpen; a <= AdmissionFatal; a++ {
		same(a, admission.Admission(a))
	}
	for q := QuarantineEndpoint; q <= QuarantineOff; q++ {
		same(q, admission.Scope(q+1))
	}
	for _, s := range []Side{Receive, Send} {
		same(s, memberrules.Side(s))
	}
	for a, theirs := range map[Access]regionrules.Access{Writes: regionrules.AccessWrite, Reads: regionrules.AccessRead} {
		if regionrules.Access(a) != theirs {
			t.Errorf("%v here is %v in the system", a, theirs)
		}
	}
	for _, c := range trigger.AllCauses() {
		if c != trigger.CauseReason {
			same(causes[c], c)
		}
	}
	for o := NoOrigin; o <= FromTimeout; o++ {
		if theirs := trigger.Origin(o + 1); origins[theirs] != o || o != NoOrigin && !strings.EqualFold(o.String(), theirs.String()) {
			t.Errorf("origin %v here is %v in the system", o, theirs)
		}
	}
	same(FromLocal, asked[FromLocal])
	same(FromPeer, asked[FromPeer])
}

// TestBothSidesHaveTheSameEffects: each effect of the send system is carried out as
// the one of that name of the receive system, but tell, which only a sender has.
func TestBothSidesHaveTheSameEffects(t *testing.T) {
	for k := send.ClaimMovedEffect; ; k++ {
		switch same := int(k) < len(asReceived) && asReceived[k].String() == k.String(); {
		case strings.HasPrefix(k.String(), "Kind("):
			if int(k) != len(asReceived) {
				t.Fatalf("the table has %d rows, the system %d kinds", len(asReceived), k)
			}
			return
		case k == send.TellEffect && asReceived[k] == 0:
		case !same:
			t.Errorf("%v is carried out as %v", k, asReceived[k])
		}
	}
}
