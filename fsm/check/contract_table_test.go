// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// tableAnswers gives each combination of a table's inputs with what it answers, in
// the words of the spec: "PUBLISHED done_ok false" to "true OK".
func tableAnswers(t *testing.T, name string) map[string]string {
	t.Helper()
	var list []*load.Source
	for _, s := range contractSources(t) {
		list = append(list, s)
	}
	set, err := load.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	table := set.Lookup(name).(*load.Table)
	out := map[string]string{}
	for i, rule := range table.Answers {
		var in, answer []string
		for k, v := range table.Combination(i) {
			in = append(in, table.Inputs[k].ValueName(v))
		}
		for k, o := range table.Rules[rule].Then {
			if o.None {
				answer = append(answer, "none")
			} else {
				answer = append(answer, table.Outputs[k].ValueName(o.Index))
			}
		}
		out[strings.Join(in, " ")] = strings.Join(answer, " ")
	}
	return out
}

// TestContractReport: contract §8 names the moves that queue a RESULT; no other does.
func TestContractReport(t *testing.T) {
	want := map[string]string{
		"PUBLISHED done_ok false":     "true OK",
		"PUBLISHED done_failed false": "true FAILED", // no sender offers it
		"PUBLISHED unexposed false":   "true FAILED",
		"PUBLISHED doubt false":       "true IN_DOUBT",
		"DRAINED doubt false":         "true IN_DOUBT",
		"IN_DOUBT settle false":       "true FAILED_QUIESCED",
	}
	for in, answer := range tableAnswers(t, "report") {
		expected := want[in]
		if expected == "" {
			expected = "false none"
		}
		if answer != expected {
			t.Errorf("%s: %s; want %s", in, answer, expected)
		}
	}
}

// TestContractAnswer: what answers a message about an attempt that holds nothing
// here and never will (contract §8): cancel, quiesced, kept.
func TestContractAnswer(t *testing.T) {
	want := map[string]string{
		"REQUEST_DATA FAILED":      "true true false",
		"REQUEST_DATA NEVER":       "true true false",
		"REQUEST_DATA UNKNOWN":     "false false true",
		"CANCEL_SESSION SUCCEEDED": "false true false",
		"CANCEL_SESSION FAILED":    "false true false",
		"CANCEL_SESSION NEVER":     "false true false",
		"CANCEL_SESSION UNKNOWN":   "false true false",
	}
	for in, answer := range tableAnswers(t, "answer") {
		expected := want[in]
		if expected == "" {
			expected = "false false false"
		}
		if answer != expected {
			t.Errorf("%s: %s; want %s", in, answer, expected)
		}
	}
}

// TestContractTrigger: contract §4 gives the origins by what happened.
func TestContractTrigger(t *testing.T) {
	want := map[string]string{
		"REPORT": "PEER FAILED", "ACK": "PEER FAILED", "GONE": "PEER DOUBT",
		"OPERATION": "LOCAL NOT_SUBMITTED", "LOCAL": "LOCAL FAILED", "FAIL_SEND": "LOCAL PUBLICATION",
		"FENCE": "LOCAL FENCED", "FAIL": "LOCAL REASON", "STOP": "LOCAL SHUTDOWN", "EXPIRY": "TIMEOUT TIMEOUT",
	}
	for in, answer := range tableAnswers(t, "trigger") {
		if answer != want[in] {
			t.Errorf("%s: %s; want %s", in, answer, want[in])
		}
	}
}
