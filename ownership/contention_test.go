// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"runtime"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/claim"
)

// while holds the registry's lock while a call with evidence comes, lets the holder do
// something once that has arrived, and returns what the call answers.
func (h *harness) while(call func() (Effects, error), holder func()) (effects Effects, err error) {
	h.t.Helper()
	done := make(chan struct{})
	h.reg.mu.Lock()
	go func() {
		effects, err = call()
		close(done)
	}()
	for limit := time.Now().Add(time.Minute); !h.reg.inbox.some.Load(); runtime.Gosched() {
		if time.Now().After(limit) {
			h.t.Error("evidence waits outside of the inbox")
			break
		}
	}
	holder()
	h.reg.mu.Unlock()
	<-done
	return effects, err
}

// §6: evidence that finds the registry busy goes into the inbox with its time, and is
// applied once, whoever does it; its caller gets the answer.
func TestEvidenceFindsTheRegistryBusy(t *testing.T) {
	setup := func(t *testing.T) (*harness, PieceName) {
		h := newHarness(t)
		p := h.open(1, Receive, "a", "b")
		h.publish(p)
		h.now = 2 * second
		return h, p
	}
	answered := func(h *harness, p PieceName, effects Effects, err error) {
		t.Helper()
		h.ok(effects, err)
		if h.effects("claim ") != 1 {
			h.t.Fatalf("the caller is told %q", h.log)
		}
		h.wantClaims(p, claim.Drained, claim.Published)
		if c := h.state(p).Claims[0]; c.Since != h.now {
			h.t.Errorf("the claim moved at %v", c.Since)
		}
	}
	t.Run("its own caller applies it", func(t *testing.T) {
		h, p := setup(t)
		effects, err := h.while(func() (Effects, error) { return h.report(p, "a", OK) }, func() {})
		answered(h, p, effects, err)
	})
	t.Run("who holds the lock applies it", func(t *testing.T) {
		h, p := setup(t)
		effects, err := h.while(func() (Effects, error) { return h.report(p, "a", OK) }, func() { h.reg.takeIn(3 * second) })
		answered(h, p, effects, err)
	})
	t.Run("a call of an earlier time leaves it for its turn", func(t *testing.T) {
		h, p := setup(t)
		effects, err := h.while(func() (Effects, error) { return h.report(p, "a", OK) }, func() {
			h.reg.takeIn(second)
			if st := h.reg.core.owned(p.Session).piece("p").state(0); st != claim.Published {
				t.Errorf("at 1 s the claim is %v, by evidence of 2 s", st)
			}
		})
		answered(h, p, effects, err)
	})
	t.Run("evidence that comes later finds it applied", func(t *testing.T) {
		h, p := setup(t)
		earlier := &arrival{evidence: evidence{at: second, kind: evidenceReport, claim: h.claim(p, "b"), from: h.member("b"), result: Failed}}
		h.reg.inbox.put(earlier)
		effects, err := h.report(p, "a", OK)
		h.ok(append(earlier.effects, effects...), err)
		h.wantClaims(p, claim.Drained, claim.Drained)
		if list := h.state(p).Claims; list[0].Since != 2*second || list[1].Since != second {
			t.Errorf("the claims moved at %v and %v", list[0].Since, list[1].Since)
		}
	})
}
