// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/scenario"
)

// catalogue are the scenarios that the library must have, by row from 1. A
// row's files bear its name, or its name and a case.
var catalogue = [...]string{
	1: "failed-writer-active-sibling", "pre-cancelled-never-publishes", "remote-cancel-finds-owned-session",
	"remote-cancelled-retained-until-drained", "failed-session-retained-until-drained",
	"failed-consensus-waits-for-every-rank", "non-terminal-result-is-no-proof",
	"partial-publication-failure-quarantines", "out-of-cohort-writer", "cancel-cannot-overtake-publication",
	"cancel-before-dispatch-releases-late-reservation-once", "cancel-request-retained-when-close-refuses",
	"completion-waits-for-physical-drain", "shutdown-refuses-active-owner",
	"settlement-needs-positive-retained-status", "replaced-status-refused", "concurrent-late-done-retires-once",
	"late-done-keeps-active-sibling", "only-explicit-settlement-closes-doubt",
	"reordered-or-foreign-settlement-invalid", "settlement-does-not-clear-contradiction",
	"abort-cannot-exclude-doubtful-writer", "settlement-does-not-clear-publication",
	"sender-late-done-reports-physical-failure-only", "receiver-late-settlement-keeps-failure-and-quarantine",
	"settlement-retries-in-order", "committed-outcome-survives", "listener-failure-uses-the-worker-stream",
	"idle-worker-polls-retained-status", "first-trigger-cannot-be-extended", "one-boundary",
	"timeout-starts-grace-without-polling", "overdue-request-cannot-restart-grace",
	"unpublished-cancel-retires-without-fatal", "fatal-closes-all-and-keeps-siblings", "callback-failure-once-only",
	"blocked-backend-cannot-delay", "done-during-grace-keeps-outcome", "repeated-done-after-foreign-fatal",
	"bad-deadline-refused", "idle-gap-keeps-deadline", "missing-aux-times-out",
	"complete-stops-clock-before-slow-consumer", "logical-completion-cannot-stop-physical-deadline",
	"nonfinal-piece-is-not-completion", "completion-at-deadline-is-timeout",
	"expired-fanout-rejects-queued-peer-keeps-submitted", "expired-second-receive-keeps-claims",
	"late-evidence-cannot-escape-deadline", "restored-claim-settles-before-deadline",
	"doubt-after-success-starts-own-clock", "atomic-kv-aux-reservation", "rejected-reservation-retires-all",
	"shutdown-retires-unpublished-session", "fatal-keeps-kv-aux-registration", "blocked-publication-cannot-delay",
	"failed-construction-leaves-nothing", "timeout-while-waiting-is-no-delivery", "cancel-before-session-acked",
	"metadata-expiry-keeps-tombstone", "ack-after-piece-reports", "precancel-stays-closed-after-cleanup",
	"repeated-cancel-keeps-first-origin", "no-ack-while-write-unproven", "ack-waits-for-admitted-and-submitting",
	"cancel-wins-while-creation-waits", "candidate-acks-are-not-results", "ack-cannot-bypass-unsettled",
	"partial-publication-ignores-ack-of-unpublished", "stale-or-unsolicited-ack", "foreign-ack-invalid",
	"missing-candidate-expires-late-ack-cannot-reverse", "progress-notifies-unsettled-senders-once",
	"late-write-into-reused-pages", "ack-that-proves-only-receipt", "ack-target-overwritten",
	"overlapping-pages-while-in-flight", "missing-producer-event", "producer-never-reports",
	"producer-frees-on-timeout", "failed-post-never-notified", "pin-count-was-the-only-keeper", "burst-of-cancels",
	"handle-released-in-flight", "remote-agent-readded-at-once", "evidence-of-the-older-attempt",
}

// beyondFiles are the rows that need what no file has: the test that shows it,
// beside the row's files where it has some.
var beyondFiles = map[int]struct{ file, test string }{
	6:  {"../cluster/rank_test.go", "TestFailedConsensusWaitsForEveryRank"},
	15: {"../transfer/incident_test.go", "TestSettlementNeedsPositiveRetainedStatus"},
	28: {"../transfer/incident_test.go", "TestListenerFailureUsesTheWorkerStream"},
	29: {"../transfer/incident_test.go", "TestIdleWorkerPollsRetainedStatus"},
	76: {"../cluster/rank_test.go", "TestAckTargetOverwritten"},
	78: {"../cuda/gather/producer_test.go", "TestMissingProducerEvent"},
	82: {"../ownership/blocks/incident_test.go", "TestPinCountWasTheOnlyKeeper"},
	84: {"../transfer/incident_test.go", "TestHandleReleasedInFlight"},
	85: {"../transfer/incident_test.go", "TestRemoteAgentReaddedAtOnce"},
}

func TestCatalogueIsCovered(t *testing.T) {
	covered := make(map[int]bool)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := scenario.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for row, name := range catalogue {
			if row > 0 && f.Name == name {
				covered[row] = true // the worked examples name no row
			}
		}
		for _, row := range f.Rows {
			if row < 1 || row >= len(catalogue) {
				t.Errorf("%s: there is no row %d", path, row)
			} else if name := catalogue[row]; f.Name != name && !strings.HasPrefix(f.Name, name+"-") {
				t.Errorf("%s: a file of row %d is named %s or %s-…", path, row, name, name)
			} else {
				covered[row] = true
			}
		}
	}
	for row, b := range beyondFiles {
		source, err := os.ReadFile(b.file)
		if err != nil || !strings.Contains(string(source), "\nfunc "+b.test+"(t *testing.T) {") {
			t.Errorf("row %d: no %s in %s: %v", row, b.test, b.file, err)
		}
		covered[row] = true
	}
	for row := 1; row < len(catalogue); row++ {
		if !covered[row] {
			t.Errorf("row %d, %s: nothing shows it", row, catalogue[row])
		}
	}
	if n := len(catalogue) - 1; n != 86 {
		t.Errorf("the catalogue has %d rows, want 86", n)
	}
}
