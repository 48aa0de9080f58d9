// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// requestNumber comes from the wall clock; output.txt has N.
var requestNumber = regexp.MustCompile(`decode/[0-9]+@`)

// TestQuickstart builds the program, runs it some times, and compares what it
// prints with output.txt.
func TestQuickstart(t *testing.T) {
	want, err := os.ReadFile("output.txt")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "quickstart")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for range 10 {
		cmd := exec.Command(program)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		hung.Stop()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
		}
		if got := requestNumber.ReplaceAllString(stdout.String(), "decode/N@"); got != string(want) {
			t.Fatalf("printed\n%swant\n%s", got, want)
		}
	}
}

// TestShort: the README promises a program of fewer than 60 lines.
func TestShort(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "\n"); n >= 60 {
		t.Errorf("main.go has %d lines", n)
	}
}
