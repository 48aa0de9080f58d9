// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"testing"

	"github.com/kvxfer/kvxfer/gen/claim"
)

func (h *harness) wantDoubted(want ...Accessor) {
	h.t.Helper()
	if got := h.reg.Snapshot().Doubted; !slices.Equal(got, want) && len(got)+len(want) > 0 {
		h.t.Fatalf("doubted are %v, want %v", got, want)
	}
}

// dubious opens a session whose own gather is in doubt.
func (h *harness) dubious(n uint64) PieceName {
	h.t.Helper()
	p := h.scattering(n, Send, "s")
	h.ok(h.local(p, LocalStart))
	h.ok(h.local(p, LocalDoubt))
	return p
}

var quarantine = sentences{
	"§7 who was struck out by reopen is remembered again by the next doubt": func(h *harness) {
		h.doubted(1, "a")
		h.wantDoubted("a")
		h.ok(h.reg.Reopen(0))
		h.wantDoubted()
		h.doubted(2, "a")
		h.wantDoubted("a")
		h.wantAdmission(AdmissionQuarantined)
	},
	"§7 who was struck out by a fence is remembered again by the next doubt": func(h *harness) {
		h.doubted(1, "a")
		h.fence("a", All)
		h.wantDoubted()
		h.wantAdmission(AdmissionOpen)
		h.lives["a"]++
		h.doubted(2, "a")
		h.wantDoubted("a")
		h.wantAdmission(AdmissionQuarantined)
	},
	"§7 a fence strikes out the one that was fenced": func(h *harness) {
		p, q := h.open(1, Receive, "a"), h.open(2, Receive, "b")
		h.publish(p)
		h.publish(q)
		h.ok(h.report(p, "a", InDoubt))
		h.ok(h.report(q, "b", InDoubt))
		h.wantDoubted("a", "b")
		h.fence("a", All)
		h.wantDoubted("b")
		h.wantAdmission(AdmissionQuarantined)
		h.fence("b", All)
		h.wantAdmission(AdmissionOpen)
	},
	"§7 local is struck out by a fence of the own scatters and gathers, and by nobody else's": func(h *harness) {
		p := h.open(2, Receive, "a")
		h.publish(p)
		h.dubious(1)
		h.ok(h.report(p, "a", InDoubt))
		h.wantDoubted("a", Local)
		h.fence("s", All)
		h.wantDoubted("a", Local)
		h.fence(Local, Passive) // reaches no operation of ours
		h.wantDoubted("a", Local)
		h.fence(Local, Own)
		h.wantDoubted("a")
		h.wantAdmission(AdmissionQuarantined)
	},
	"§3 a fence of local ends its names and proves the gather": func(h *harness) {
		p := h.dubious(1)
		h.fence(Local, Own)
		h.wantLocal(p, claim.FailedQuiesced)
		if l := h.state(p).Local; !l.Fenced {
			h.t.Errorf("%+v", l)
		}
		if c := h.state(p).Claims[0]; c.Fenced {
			h.t.Errorf("%+v", c)
		}
		h.want(ErrStale)(h.local(p, LocalDone))
		h.ok(h.reg.Close(0, p.Session))
	},
	"§3 a fence of local proves a gather that runs": func(h *harness) {
		p, q := h.scattering(1, Send, "a"), h.scattering(2, Receive, "a")
		h.ok(h.local(p, LocalStart))
		h.fence(Local, All)
		h.wantLocal(p, claim.FailedQuiesced)
		h.wantLocal(q, claim.SafeUnpublished)
		h.want(ErrStale)(h.local(p, LocalDone))
	},
}

func TestQuarantine(t *testing.T) { quarantine.run(t) }
