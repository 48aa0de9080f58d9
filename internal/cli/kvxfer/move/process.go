// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// Process is whoever the receiver runs in, as the first process holds it.
type Process interface {
	Send(message any) error
	Recv(ctx context.Context, v any) error
	// Stop returns when the receiver can do nothing any more, Continue when it can again.
	Stop(ctx context.Context) error
	Continue(ctx context.Context) error
	// Kill ends it at once.
	Kill() error
	// Pid is the process that receives.
	Pid() int
	// Ending says how it ended, after it closed its end of the pipe.
	Ending(ctx context.Context) string
	Close() error
}

// child is the real thing: another operating-system process.
type child struct{ *proc.Child }

// ChildProcess wraps a second process.
func ChildProcess(c *proc.Child) Process { return child{c} }

func (c child) Kill() error {
	if s := c.Child.Kill(); !s.Gone() {
		return fmt.Errorf("move: second process %d %v after SIGKILL", c.Pid(), s)
	}
	return nil
}

// Ending waits a little: the pipe closes before the process is reaped.
func (c child) Ending(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, _ := c.Wait(ctx)
	return s.String()
}

// inside is a receiver in this very process, for machines without NIXL. What
// stops and dies is its side of the loop fabric.
type inside struct {
	*proc.Lines
	fabric *loop.Fabric
	cancel context.CancelCauseFunc
	done   chan struct{}
	once   sync.Once
}

var errKilled = errors.New("killed")

// Inside runs a receiver as a goroutine of this process over a loop fabric.
func Inside(ctx context.Context, plan Plan, fabric *loop.Fabric) Process {
	downR, downW := io.Pipe()
	upR, upW := io.Pipe()
	ctx, cancel := context.WithCancelCause(ctx)
	p := &inside{Lines: proc.NewLines(upR, downW), fabric: fabric, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		parent := proc.NewLines(downR, upW)
		defer func() { _ = parent.Close() }()
		_ = Receive(ctx, plan, OpenLoop(fabric), parent) // told over the pipe
	}()
	return p
}

func (p *inside) Stop(context.Context) error     { return p.fabric.Stall(ReceiverName) }
func (p *inside) Continue(context.Context) error { return p.fabric.Continue(ReceiverName) }

func (p *inside) Kill() error {
	err := p.fabric.Kill(ReceiverName, 0)
	p.cancel(errKilled)
	return err
}

func (p *inside) Pid() int { return os.Getpid() }

func (p *inside) Ending(context.Context) string { return "has ended" }

func (p *inside) Close() error {
	p.once.Do(func() {
		p.cancel(nil)
		_ = p.Lines.Close()
		<-p.done
	})
	return nil
}
