// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kvxfer/kvxfer/nixl"
)

// Whatever ends the command, its second process ends with it, stopped or not,
// and neither leaves anything behind.
func TestSecondProcessEndsWithTheCommand(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Folders: []string{projectLibrary}})
	if err != nil {
		t.Skip("needs NIXL: ", err)
	}
	for _, tc := range []struct {
		name   string
		args   []string
		until  string // the line after which the command is ended
		signal syscall.Signal
		code   int
		stderr string
	}{
		{"Ctrl-C while moving", []string{"run", "--count", "100000"}, `"number":3`, syscall.SIGINT, 130,
			"kvxfer run: interrupted; the second process is gone\n"},
		{"Ctrl-C while the receiver is stopped", []string{"run", "--fault", "stall", "--wait", "1m"}, `"stopped"`, syscall.SIGINT, 130,
			"kvxfer run: interrupted; the second process is gone\n"},
		{"SIGTERM while the receiver is stopped", []string{"run", "--fault", "stall", "--wait", "1m"}, `"stopped"`, syscall.SIGTERM, 130,
			"kvxfer run: interrupted; the second process is gone\n"},
		{"crash while moving", []string{"run", "--count", "100000"}, `"number":3`, syscall.SIGKILL, -1, ""},
		{"crash while the receiver is stopped", []string{"run", "--fault", "stall", "--wait", "1m"}, `"stopped"`, syscall.SIGKILL, -1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := leftovers(t)
			c := startCommand(t, lib.Path(), append(tc.args, "--transport", "tcp", "--json"))
			receiver := c.readUntil(t, tc.until)
			defer func() { _ = unix.Close(receiver) }()
			if err := c.cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, c.out) }() // it may be writing
			err := c.cmd.Wait()
			var code *exec.ExitError
			if !errors.As(err, &code) || code.ExitCode() != tc.code {
				t.Errorf("ended with %v, want exit code %d", err, tc.code)
			}
			if tc.code > 0 && c.stderr.String() != tc.stderr {
				t.Errorf("standard error %q, want %q", c.stderr.String(), tc.stderr)
			}
			if !ended(t, receiver) {
				_ = unix.PidfdSendSignal(receiver, unix.SIGKILL, nil, 0)
				t.Fatal("the second process is still there")
			}
			if after := leftovers(t); !slices.Equal(before, after) {
				t.Errorf("left behind: before %q, after %q", before, after)
			}
		})
	}
}

// Where there is no second process, none is spoken of.
func TestInterruptOfOneProcess(t *testing.T) {
	c := startCommand(t, "", []string{"run", "--backend", "loop", "--count", "100000", "--json"})
	itself := c.readUntil(t, `"number":3`)
	defer func() { _ = unix.Close(itself) }()
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, c.out) }() // it may be writing
	err := c.cmd.Wait()
	var code *exec.ExitError
	if !errors.As(err, &code) || code.ExitCode() != 130 {
		t.Errorf("ended with %v, want exit code 130", err)
	}
	if got, want := c.stderr.String(), "kvxfer run: interrupted\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
}

// command is a running kvxfer.
type command struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer
}

func startCommand(t *testing.T, library string, args []string) *command {
	t.Helper()
	path, err := exec.LookPath("kvxfer")
	if err != nil {
		t.Fatal(err)
	}
	c := &command{cmd: exec.Command(path, args...)}
	c.cmd.Args[0] = "kvxfer"
	c.cmd.Env = append(os.Environ(), nixl.EnvLibrary+"="+library)
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = time.Minute
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	c.out = bufio.NewReader(out)
	return c
}

// readUntil reads lines up to one that has want, and returns a handle of the
// second process, which no reuse of its pid can fool.
func (c *command) readUntil(t *testing.T, want string) (pidfd int) {
	t.Helper()
	pidfd = -1
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("before %s: %v; standard error: %s", want, err, c.stderr.String())
		}
		var first struct {
			Receiver int `json:"receiver_pid"`
		}
		if err := json.Unmarshal(line, &first); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if first.Receiver != 0 {
			if pidfd, err = unix.PidfdOpen(first.Receiver, 0); err != nil {
				t.Fatal(err)
			}
		}
		if pidfd >= 0 && bytes.Contains(line, []byte(want)) {
			return pidfd
		}
	}
}

func ended(t *testing.T, pidfd int) bool {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 1
		}
	}
}

// leftovers lists what a process could leave in shared memory.
func leftovers(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
