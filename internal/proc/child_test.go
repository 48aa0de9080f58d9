// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bound is how long a test waits for what must happen; reaching it is a
// failure, never a pass.
const bound = 30 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, role string) (*Child, *bytes.Buffer) {
	t.Helper()
	var stderr bytes.Buffer
	c, err := Start(Spec{Args: []string{"child"}, Env: []string{roleVariable + "=" + role}, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, &stderr
}

func echo(t *testing.T, c *Child, n int) {
	t.Helper()
	if err := c.Send(n); err != nil {
		t.Fatal(err)
	}
	var got int
	if err := c.Recv(within(t), &got); err != nil || got != n {
		t.Fatalf("echo of %d: got %d, %v", n, got, err)
	}
}

// kernelState is the letter that the kernel shows for a process; 0 when there
// is none.
func kernelState(t *testing.T, pid int) byte {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return b[bytes.LastIndexByte(b, ')')+2]
}

func TestLinesBothWays(t *testing.T) {
	c, stderr := start(t, "echo")
	for n := range 1000 {
		echo(t, c, n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "echo: ready\nnoise from a C library\n"; stderr.String() != want {
		t.Errorf("standard error %q, want %q: what others print must not reach the messages", stderr, want)
	}
}

func TestStopIsConfirmedByTheKernel(t *testing.T) {
	c, _ := start(t, "echo")
	echo(t, c, 1)
	for range 5 {
		if err := c.Stop(within(t)); err != nil {
			t.Fatal(err)
		}
		if s, k := c.State(), kernelState(t, c.Pid()); !s.Stopped || k != 'T' {
			t.Fatalf("after Stop: %v, kernel says %c", s, k)
		}
		if err := c.Send(2); err != nil {
			t.Fatal(err)
		}
		if err := c.Continue(within(t)); err != nil {
			t.Fatal(err)
		}
		var got int
		if err := c.Recv(within(t), &got); err != nil || got != 2 {
			t.Fatalf("after Continue: %d, %v", got, err)
		}
	}
}

func TestContinueOfARunningChild(t *testing.T) {
	c, _ := start(t, "echo")
	if err := c.Continue(within(t)); err != nil {
		t.Fatal(err)
	}
	echo(t, c, 1)
}

func TestKillStoppedChild(t *testing.T) {
	c, _ := start(t, "echo")
	if err := c.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	if s := c.Kill(); !s.Signaled || s.Signal != syscall.SIGKILL {
		t.Errorf("after Kill: %v", s)
	}
	if k := kernelState(t, c.Pid()); k != 0 {
		t.Errorf("kernel still shows state %c: not reaped", k)
	}
}

func TestExitIsSeen(t *testing.T) {
	c, _ := start(t, "exit7")
	s, err := c.Wait(within(t))
	if err != nil || !s.Exited || s.Code != 7 {
		t.Fatalf("%v, %v", s, err)
	}
	if err := c.Stop(within(t)); !errors.Is(err, ErrExited) {
		t.Errorf("Stop of an ended child: %v", err)
	}
	if err := c.Recv(within(t), new(int)); !errors.Is(err, ErrClosed) {
		t.Errorf("Recv from an ended child: %v", err)
	}
	if err := c.Send(1); !errors.Is(err, ErrClosed) {
		t.Errorf("Send to an ended child: %v", err)
	}
}

func TestChildEndsWhenItsInputEnds(t *testing.T) {
	c, _ := start(t, "echo")
	echo(t, c, 1)
	if err := c.Lines.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Wait(within(t)); err != nil || s.Code != 0 {
		t.Fatalf("%v, %v", s, err)
	}
}

func TestStartErrorNamesTheProgram(t *testing.T) {
	_, err := Start(Spec{Path: "/nowhere/kvxfer"})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/kvxfer") || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

// The thread that called Start may end; the child must not end with it.
func TestChildOutlivesTheCallersThread(t *testing.T) {
	ch := make(chan *Child)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		c, err := Start(Spec{Args: []string{"child"}, Env: []string{roleVariable + "=echo"}, Stderr: new(bytes.Buffer)})
		if err != nil {
			t.Error(err)
		}
		ch <- c
	}()
	c := <-ch
	if c == nil {
		return
	}
	defer func() { _ = c.Close() }()
	for n := range 100 {
		echo(t, c, n)
	}
	if s := c.State(); !s.Running {
		t.Fatalf("child %v", s)
	}
}

func TestRecvEndsWithItsContext(t *testing.T) {
	c, _ := start(t, "echo")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Recv(ctx, new(int)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// In C the first of two variables of one name counts, in Go the last.
func TestEnvironmentHasEachNameOnce(t *testing.T) {
	t.Setenv("KVXFER_PROC_TEST", "parent's")
	var stderr bytes.Buffer
	c, err := Start(Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "env >&2"}, Env: []string{"KVXFER_PROC_TEST=child's"}, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	out := stderr.String()
	if got := strings.Count(out, "KVXFER_PROC_TEST="); got != 1 || !strings.Contains(out, "KVXFER_PROC_TEST=child's\n") {
		t.Errorf("%d times in\n%s", got, out)
	}
}
