// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// ErrExited is matched by everything that asks something of a child that has
// ended.
var ErrExited = errors.New("proc: child has ended")

// Spec says which child to start.
type Spec struct {
	Path string   // executable; empty: this very program
	Args []string // the child's arguments, its own name included
	Env  []string // added to this process's environment; later entries win
	// Stderr takes what the child writes to its standard error, in whole
	// lines and from one goroutine. Nil: the parent's standard error.
	Stderr io.Writer
}

// Child is a running or ended child process. All methods may be called from
// any goroutine.
type Child struct {
	*Lines        // to the child's standard input, from its standard output
	pid    int    // for messages and signals; also the process group
	stderr *relay // copies the child's standard error

	mu    sync.Mutex // held while signalling and reaping, so that no signal can meet a reused pid
	state State      // guarded by mu
	moved chan struct{}
	done  chan struct{} // closed after the child was reaped
}

// State is what the kernel last said about a child.
type State struct {
	Running, Stopped, Exited, Signaled bool
	Code                               int            // exit code, when Exited
	Signal                             syscall.Signal // what ended or stopped it
	stops, continues                   int
}

// String is the state in a reader's words.
func (s State) String() string {
	switch {
	case s.Exited:
		return fmt.Sprintf("ended with exit code %d", s.Code)
	case s.Signaled:
		return "was ended by " + signalName(s.Signal)
	case s.Stopped:
		return "is stopped by " + signalName(s.Signal)
	}
	return "is running"
}

// Gone reports whether the process has ended.
func (s State) Gone() bool { return s.Exited || s.Signaled }

// Start starts a child. The caller must Close it.
func Start(spec Spec) (*Child, error) {
	path := spec.Path
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("proc: this program's own path: %w", err)
		}
		path = self
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, fmt.Errorf("proc: pipes for %s: %w", path, err)
	}
	c := &Child{moved: make(chan struct{}), done: make(chan struct{}), state: State{Running: true}}
	started := make(chan error)
	go c.keep(path, spec, pipes, started)
	if err := <-started; err != nil {
		pipes.close()
		return nil, fmt.Errorf("proc: start %s: %w", path, err)
	}
	pipes.closeChildEnds()
	out := spec.Stderr
	if out == nil {
		out = os.Stderr
	}
	c.Lines = NewLines(pipes.outR, pipes.inW)
	c.stderr = newRelay(pipes.errR, out)
	return c, nil
}

// Pid is the child's process id.
func (c *Child) Pid() int { return c.pid }

// State is what the kernel last said.
func (c *Child) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Done is closed after the child has ended and was reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Stop stops the child (SIGSTOP) and returns when the kernel has confirmed
// that all its threads are stopped.
func (c *Child) Stop(ctx context.Context) error {
	return c.signalAndAwait(ctx, syscall.SIGSTOP, func(s State) int { return s.stops })
}

// Continue lets a stopped child go on (SIGCONT) and returns when the kernel
// has confirmed it. A running child is left alone.
func (c *Child) Continue(ctx context.Context) error {
	if s := c.State(); !s.Stopped && !s.Gone() {
		return nil
	}
	return c.signalAndAwait(ctx, syscall.SIGCONT, func(s State) int { return s.continues })
}

// Kill ends the child and its process group at once (SIGKILL), stopped or
// not, and returns when it has been reaped. Killing an ended child is fine.
func (c *Child) Kill() State {
	c.mu.Lock()
	if !c.state.Gone() {
		// The group may not exist yet or have lost its leader: the pid is certain.
		_ = syscall.Kill(-c.pid, syscall.SIGKILL)
		_ = syscall.Kill(c.pid, syscall.SIGKILL)
	}
	c.mu.Unlock()
	<-c.done
	return c.State()
}

// Wait returns when the child has ended, with how.
func (c *Child) Wait(ctx context.Context) (State, error) {
	select {
	case <-c.done:
		return c.State(), nil
	case <-ctx.Done():
		return c.State(), fmt.Errorf("proc: child %d %v: %w", c.pid, c.State(), context.Cause(ctx))
	}
}

// Close kills the child if it still runs, reaps it, and returns after the last
// line of its standard error was passed on.
func (c *Child) Close() error {
	c.Kill()
	err := c.Lines.Close()
	c.stderr.wait()
	return err
}

func (c *Child) signalAndAwait(ctx context.Context, sig syscall.Signal, count func(State) int) error {
	c.mu.Lock()
	before := count(c.state)
	if c.state.Gone() {
		c.mu.Unlock()
		return fmt.Errorf("%w: %s to pid %d, which %v", ErrExited, signalName(sig), c.pid, c.State())
	}
	err := syscall.Kill(c.pid, sig)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("proc: %s to pid %d: %w", signalName(sig), c.pid, err)
	}
	for {
		c.mu.Lock()
		s, moved := c.state, c.moved
		c.mu.Unlock()
		switch {
		case s.Gone():
			return fmt.Errorf("%w: pid %d %v", ErrExited, c.pid, s)
		case count(s) > before:
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("proc: %s to pid %d not confirmed: %w", signalName(sig), c.pid, context.Cause(ctx))
		}
	}
}
