// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSystemsPage: the system that the page shows is the one that the script checks,
// and the run that it shows is what the script's broken form gives.
func TestSystemsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/fsmgen-systems.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/check.txtar")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```")
	if len(blocks) < 5 {
		t.Fatalf("%d code blocks on the page", len(blocks)/2)
	}
	system := strings.TrimPrefix(blocks[1], "yaml\n")
	if !strings.Contains(string(script), "-- spec/commit.yaml --\n"+system) {
		t.Error("the page's system is not the one in testdata/check.txtar")
	}
	for line := range strings.Lines(blocks[3]) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.Contains(string(script), "stdout '^"+regexp.QuoteMeta(line)+"$'") {
			t.Errorf("the page's run has a line that the script does not expect: %s", line)
		}
	}
}
