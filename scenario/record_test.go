// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/scenario"
)

// What was recorded passes, records to itself, and of a file that passed it
// keeps every expectation.
func TestRecordedFilesPass(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, err := scenario.Record(path, data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := scenario.Record(path, first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if !bytes.Equal(first, again) {
			t.Errorf("%s: recording twice differs:\n%s\n%s", path, first, again)
		}
		f, err := scenario.Parse(path, again)
		if err != nil {
			t.Fatal(err)
		}
		report, err := scenario.Run(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Err(); err != nil {
			t.Errorf("%v\n%s", err, again)
		}
	}
}

func TestRecordFillsWhatIsMissing(t *testing.T) {
	const incident = `name: incident
steps:
  - session: {id: r1, side: receive}
  - piece: {session: r1, id: kv0, region: A, cohort: [prefill-0]} # the only one
  - publish: kv0
  - report: {piece: kv0, from: prefill-0, evidence: in_doubt}
  - report: {piece: kv0, from: prefill-0, evidence: ok}
  - close: r1
    error: stale
`
	got, err := scenario.Record("incident.yaml", []byte(incident))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\s+`).ReplaceAllString(string(got), " ")
	for _, want := range []string{
		"# the only one",
		`piece kv0: {claims: {"prefill-0": IN_DOUBT}, verdicts: {"prefill-0": NONE}, gate: SEALED, outcome: FAILED, drained: false, invalid: false, local: none}`,
		"session r1: {outcome: FAILED, cause: doubt, origin: peer, physical: IN_DOUBT, closed: false, released: 0}",
		"registry: {admission: QUARANTINED, fatal: false, contained: 0, owners: 1, retained: 1}",
		"evidence: ok} error: conflict",
		"close: r1 error: refused",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if _, err := scenario.Record("x.yaml", []byte("name: x\n")); err == nil {
		t.Error("a file without steps was recorded")
	}
}
