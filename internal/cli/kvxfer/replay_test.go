// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/scenario"
)

const corpus = "../../../scenario/testdata"

// call runs one command line in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(append([]string{"kvxfer"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// changed writes a scenario of the corpus with one thing replaced, and returns its path.
func changed(t *testing.T, name, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(from)) {
		t.Fatalf("%s has no %q", name, from)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte(from), []byte(to)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayPasses(t *testing.T) {
	code, out, errs := call("replay", filepath.Join(corpus, "failed-writer-active-sibling.yaml"))
	if code != exit.OK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	wantParts(t, out, "one writer failed", "kv0 8: PUBLISHED → DRAINED", "r1: FAILED, cause failed, origin peer", "refused",
		"kv0: region A released", "passed failed-writer-active-sibling: 9 steps")
	code, out, errs = call("replay", corpus)
	if code != exit.OK || errs != "" || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	wantParts(t, out, "0 failed")
}

func TestReplayFails(t *testing.T) {
	bad := changed(t, "one-boundary-at.yaml", "fatal: true", "fatal: false")
	good := filepath.Join(corpus, "one-boundary-before.yaml")
	code, out, errs := call("replay", good, bad, good)
	if code != exit.Finding {
		t.Errorf("exit code %d, want %d", code, exit.Finding)
	}
	wantParts(t, out, "FAILED one-boundary-at", bad+":11:14: ", "fatal is true, want false", "2 scenarios, 16 steps: 1 passed, 1 failed")
	wantParts(t, errs, "kvxfer replay: 1 of 2 scenarios failed")
	if strings.Contains(out, "passed one-boundary-before") {
		t.Error("a scenario that passed is shown without --verbose")
	}
	_, out, _ = call("replay", "-v", good, bad)
	wantParts(t, out, "passed one-boundary-before")
}

func TestReplayMistakes(t *testing.T) {
	empty := t.TempDir()
	wrong := changed(t, "one-boundary-at.yaml", "side: receive", "side: both")
	for name, test := range map[string]struct {
		args []string
		errs []string
	}{
		"no argument":        {nil, []string{"no scenario is named"}},
		"no such file":       {[]string{filepath.Join(empty, "x.yaml")}, []string{"no such file"}},
		"nothing in it":      {[]string{empty}, []string{"no scenario in it"}},
		"a bad file":         {[]string{wrong, corpus}, []string{wrong + ":6:29: side must be one of", "1 mistake in 1 file"}},
		"record of a bad":    {[]string{"--record", wrong}, []string{wrong + ":6:29: ", "1 mistake in"}},
		"record of several":  {[]string{"--record", corpus}, []string{"--record and --svg take one"}},
		"two kinds of print": {[]string{"--record", "--json", wrong}, []string{"go with no other flag"}},
		"svg nowhere":        {[]string{"--svg", filepath.Join(empty, "a", "b.svg"), filepath.Join(corpus, "one-boundary-at.yaml")}, []string{"no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := call(append([]string{"replay"}, test.args...)...)
			if code != exit.Usage {
				t.Errorf("exit code %d, want %d", code, exit.Usage)
			}
			wantParts(t, errs, test.errs...)
		})
	}
}

func TestReplayJSON(t *testing.T) {
	bad := changed(t, "one-boundary-at.yaml", "fatal: true", "fatal: false")
	code, out, _ := call("replay", "--json", bad)
	if code != exit.Finding {
		t.Errorf("exit code %d, want %d", code, exit.Finding)
	}
	var events []replayEvent
	for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
		var e replayEvent
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, s.Bytes())
		}
		events = append(events, e)
	}
	if len(events) != 9 {
		t.Fatalf("%d lines, want one for each of 8 steps and one for the scenario", len(events))
	}
	advance, last := events[4], events[8]
	if advance.Kind != "advance" || advance.At.String() != "5s" || len(advance.Failures) != 1 || advance.Failures[0].Line != 11 {
		t.Errorf("got %+v", advance)
	}
	if e := events[6]; e.Error != "fatal" || e.Line != 14 {
		t.Errorf("got %+v", e)
	}
	if last.Event != "scenario" || last.Passed == nil || *last.Passed || last.Steps != 8 {
		t.Errorf("got %+v", last)
	}
}

func TestReplaySVG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.svg")
	if code, _, errs := call("replay", "--svg", path, filepath.Join(corpus, "fatal-closes-all-and-keeps-siblings.yaml")); code != exit.OK {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, string(data), "<title>admission: FATAL</title>", "<title>kv0 7: PUBLISHED</title>", "<title>kv3 9: UNPUBLISHED</title>", "<title>r2: SUCCEEDED</title>")
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayRecord(t *testing.T) {
	path := changed(t, "one-boundary-at.yaml", "    error: fatal\n", "")
	if code, _, _ := call("replay", path); code != exit.Finding {
		t.Fatalf("exit code %d: the file has an error less", code)
	}
	code, out, errs := call("replay", "--record", path)
	if code != exit.OK {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	wantParts(t, out, "error: fatal", "piece kv0: {claims: {7: PUBLISHED}")
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call("replay", path); code != exit.OK {
		t.Errorf("what was recorded does not pass: %s", errs)
	}
}

func TestReplaySchema(t *testing.T) {
	code, out, _ := call("replay", "--schema")
	if code != exit.OK || !json.Valid([]byte(out)) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// Every state that a lane can show has a colour.
func TestReplayColours(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range files {
		f, err := scenario.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := scenario.Run(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range scenario.Lanes(r) {
			for _, s := range l.Spans {
				if laneColours[s.State] == "" || s.From >= s.To || s.To > len(r.Steps) {
					t.Errorf("%s: lane %s: %+v", path, l.Name, s)
				}
			}
		}
	}
}
