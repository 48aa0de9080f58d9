// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// keep starts the child and stays with it until it is reaped, all on one
// thread: the kernel sends the parent-death signal when the *thread* that
// forked ends, and Go ends threads as it likes unless one is locked.
func (c *Child) keep(path string, spec Spec, p *pipes, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	proc, err := os.StartProcess(path, spec.Args, &os.ProcAttr{
		// Each name once: in C the first of two counts.
		Env:   (&exec.Cmd{Env: append(os.Environ(), spec.Env...)}).Environ(),
		Files: []*os.File{p.inR, p.outW, p.errW},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err == nil {
		c.pid = proc.Pid
	}
	started <- err
	if err != nil {
		return
	}
	for c.reapNext() {
	}
	_ = proc.Release() // reaped here, not by os
	close(c.done)
}

// reapNext waits for the child's next change and records it. It reports
// whether there can be another one.
func (c *Child) reapNext() bool {
	// Look without taking, then take under the lock: between the two nobody
	// can signal a pid that the kernel has already given away.
	const all = unix.WEXITED | unix.WSTOPPED | unix.WCONTINUED
	err := unix.Waitid(unix.P_PID, c.pid, nil, all|unix.WNOWAIT, nil)
	if errors.Is(err, unix.EINTR) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var ws unix.WaitStatus
	got, err := unix.Wait4(c.pid, &ws, unix.WNOHANG|unix.WUNTRACED|unix.WCONTINUED, nil)
	switch {
	case errors.Is(err, unix.EINTR) || err == nil && got == 0:
		return true
	case err != nil: // somebody else reaped it: it is gone, how is unknown
		c.state = State{Exited: true, Code: -1}
	default:
		c.state = c.state.next(ws)
	}
	close(c.moved)
	c.moved = make(chan struct{})
	return !c.state.Gone()
}

// next is the state after the kernel reported ws.
func (s State) next(ws unix.WaitStatus) State {
	n := State{stops: s.stops, continues: s.continues}
	switch {
	case ws.Exited():
		n.Exited, n.Code = true, ws.ExitStatus()
	case ws.Signaled():
		n.Signaled, n.Signal = true, ws.Signal()
	case ws.Stopped():
		n.Stopped, n.Signal = true, ws.StopSignal()
		n.stops++
	default:
		n.Running = true
		n.continues++
	}
	return n
}

func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return s.String()
}
