// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// The test program is its own child: this variable says which part it plays.
const roleVariable = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "echo":
		os.Exit(playEcho())
	case "exit7":
		os.Exit(7)
	default:
		os.Exit(playParent(role))
	}
}

// playEcho answers every number with itself until its input ends.
func playEcho() int {
	fmt.Fprintln(os.Stderr, "echo: ready")
	up, err := Parent()
	if err != nil {
		return 3
	}
	fmt.Fprintln(os.NewFile(1, "stdout"), "noise from a C library")
	for {
		var n int
		if up.Recv(context.Background(), &n) != nil {
			return 0
		}
		if up.Send(n) != nil {
			return 1
		}
	}
}

// playParent is a parent in the middle: it starts a child, stops it if its
// role says so, tells the child's pid, and then ends in one of many ways.
func playParent(role string) int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer cancel()
	up, err := Parent()
	if err != nil {
		return 3
	}
	c, err := Start(Spec{Args: []string{"child"}, Env: []string{roleVariable + "=echo"}})
	if err != nil {
		return 3
	}
	if role == "parent-of-stopped" {
		if err := c.Stop(ctx); err != nil {
			return 3
		}
	}
	if err := up.Send(c.Pid()); err != nil {
		return 3
	}
	var word string
	err = up.Recv(ctx, &word)
	switch {
	case ctx.Err() != nil: // Ctrl-C: tidy up, say so
		_ = c.Close()
		_ = up.Send("child is gone")
		return 130
	case err != nil:
		return 4
	case word == "panic":
		panic("a parent that crashes")
	case word == "return":
		return 0 // forgets its child
	}
	return 5
}
