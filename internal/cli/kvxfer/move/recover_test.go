// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"testing"
	"time"
)

// The sender gets out of its doubt while the receiver stands still; what that does
// not prove stays owned, is listed, and is in nobody's way.
func TestRecoverGoesOnInAnotherLife(t *testing.T) {
	r := newRecorded(t)
	r.config.Fault, r.config.Count = Stall, 3
	r.config.Plan.Wait, r.config.Plan.Recover = 50*time.Millisecond, true
	report, err := r.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if report.Delivered() != 2 || report.Proven() != 2 || len(report.Transfers) != 3 {
		t.Errorf("%d delivered, %d proven", report.Delivered(), report.Proven())
	}
	if stalled := report.Transfers[1]; !stalled.Released || stalled.Outcome != "FAILED" || stalled.Receiver == nil || stalled.Receiver.Released {
		t.Errorf("stalled: %+v", stalled)
	}
	if re := report.Recovery; re == nil || re.Fenced != 1 || len(re.Retained) != 0 || re.From == re.To {
		t.Errorf("recovery: %+v", re)
	}
	if report.Sender.Admitted != 3 || report.Sender.Released != 3 {
		t.Errorf("sender: %+v", report.Sender)
	}
	if n := len(report.AllRetained()); n != 1 || report.Receiver.Released != 2 {
		t.Errorf("receiver: %+v", report.Receiver)
	}
}
