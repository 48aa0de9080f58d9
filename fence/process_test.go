// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/fence"
)

// sleeper starts a process that ends when told to.
func sleeper(t *testing.T) (*exec.Cmd, fence.Process) {
	t.Helper()
	if runtime.GOOS != "linux" {
		_, err := fence.Find(os.Getpid())
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		t.Skip("processes are found on Linux only")
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Skip("no process to look at: ", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p, err := fence.Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, p
}

func exited(t *testing.T) fence.Exited {
	t.Helper()
	cmd, p := sleeper(t)
	if err := errors.Join(cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	e, err := p.Gone()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A process is gone when it is dead, also before somebody has waited for it, and
// when its number is another's; not while it lives or is stopped.
func TestProcessIsGone(t *testing.T) {
	cmd, p := sleeper(t)
	if _, err := p.Gone(); !errors.Is(err, fence.ErrAlive) {
		t.Errorf("a living process: %v", err)
	}
	successor := p
	successor.Started-- // the number was another's before
	if e, err := successor.Gone(); err != nil || e.Process() != successor {
		t.Errorf("a number that was used again: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 1000 { // until the signal has done its work; nobody waits for the process yet
		if _, err = p.Gone(); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("a dead process: %v", err)
	}
	_ = cmd.Wait()
	if _, err := p.Gone(); err != nil {
		t.Errorf("a process that was waited for: %v", err)
	}
	if _, err := fence.Find(cmd.Process.Pid); err == nil {
		t.Error("a dead process was found")
	}
}

func TestProcessOfSomewhereElse(t *testing.T) {
	_, p := sleeper(t)
	for name, change := range map[string]func(*fence.Process){
		"another boot": func(p *fence.Process) { p.Boot = "x" }, "another namespace": func(p *fence.Process) { p.Namespace = "pid:[1]" },
		"no number": func(p *fence.Process) { p.PID = 0 },
	} {
		q := p
		change(&q)
		if _, err := q.Gone(); !errors.Is(err, fence.ErrElsewhere) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fence.Find(-1); !errors.Is(err, fence.ErrEvidence) {
		t.Errorf("process -1: %v", err)
	}
}
