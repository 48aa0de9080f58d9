// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os/exec"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// eventually runs a program again and again until it ends with an exit code:
// what it asks for is made by a program in the background.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually code program [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(time.Minute); ; {
		got := 0
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			var code *exec.ExitError
			if !errors.As(err, &code) {
				ts.Fatalf("%v", err)
			}
			got = code.ExitCode()
		}
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("exit code still %d, want %d", got, want)
		}
	}
}
