// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Each case is a real parent in the middle with a real child of its own. The
// child must be gone however the parent ends, stopped or not.
func TestChildNeverOutlivesItsParent(t *testing.T) {
	kill := func(t *testing.T, parent *Child) { parent.Kill() }
	say := func(word string) func(*testing.T, *Child) {
		return func(t *testing.T, parent *Child) {
			if err := parent.Send(word); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name, role string
		end        func(*testing.T, *Child)
		code       int // of the parent in the middle; -1: by signal
	}{
		{"killed", "parent", kill, -1},
		{"killed, child stopped", "parent-of-stopped", kill, -1},
		{"panicked", "parent", say("panic"), 2},
		{"panicked, child stopped", "parent-of-stopped", say("panic"), 2},
		{"returned", "parent", say("return"), 0},
		{"returned, child stopped", "parent-of-stopped", say("return"), 0},
		{"interrupted", "parent", interrupt, 130},
		{"interrupted, child stopped", "parent-of-stopped", interrupt, 130},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parent, _ := start(t, tc.role)
			var pid int
			if err := parent.Recv(within(t), &pid); err != nil {
				t.Fatal(err)
			}
			fd, err := unix.PidfdOpen(pid, 0) // a pid may be reused, this may not
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Close(fd) }()
			if gone(t, fd, 0) {
				t.Fatal("the child was gone before its parent was")
			}
			tc.end(t, parent)
			s, err := parent.Wait(within(t))
			if err != nil || tc.code >= 0 && s.Code != tc.code || (tc.code < 0) != s.Signaled {
				t.Errorf("parent: %v, %v", s, err)
			}
			if !gone(t, fd, int(bound.Milliseconds())) {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
				t.Fatal("the child outlived its parent")
			}
		})
	}
}

// interrupt is Ctrl-C: the terminal signals the foreground group, in which the
// child must not be.
func interrupt(t *testing.T, parent *Child) {
	if err := syscall.Kill(-parent.Pid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var word string
	if err := parent.Recv(within(t), &word); err != nil || word != "child is gone" {
		t.Errorf("interrupted parent said %q, %v", word, err)
	}
}

// gone waits up to ms milliseconds for the process behind fd to end.
func gone(t *testing.T, fd, ms int) bool {
	t.Helper()
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, ms)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
}
