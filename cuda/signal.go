// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// Signal wakes a goroutine when a stream gets to a place: a host function of
// the driver raises it. It says that it is worth to ask, and proves nothing:
// an event is queried for that. After an error of the context it is never raised.
type Signal struct {
	context *Context
	handle  cudac.Signal
	file    *os.File

	mu       sync.Mutex
	launched uint64 // guarded by mu; raises that the driver was asked for
	closed   bool   // guarded by mu
}

// NewSignal creates a signal.
func (c *Context) NewSignal() (*Signal, error) {
	h, fd := c.api.NewSignal()
	if h == 0 {
		return nil, errors.New("cuda: signal: no memory or no file descriptor left")
	}
	return &Signal{context: c, handle: h, file: os.NewFile(fd, "cuda signal")}, nil
}

// Signal raises g when all work given so far has ended.
func (s *Stream) Signal(g *Signal) error {
	if g.context != s.context {
		return fmt.Errorf("%w: signal of %s, stream of %s", ErrWrongContext, g.context.device, s.context.device)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("%w: signal", ErrClosed)
	}
	return s.submit("cuLaunchHostFunc", nil, func() cudac.Result {
		g.launched++ // also when it fails: it may run nevertheless
		return s.context.api.LaunchSignal(s.context.handle, s.handle, g.handle)
	})
}

// Wait blocks until the signal was raised since the last Wait, or ctx is done.
// One goroutine waits at a time.
func (g *Signal) Wait(ctx context.Context) error {
	if err := g.file.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("%w: signal: %w", ErrClosed, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = g.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var count [8]byte
	if _, err := g.file.Read(count[:]); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: signal: %w", ErrClosed, err)
	}
	return nil
}

// Close frees the signal; [ErrInFlight] while the driver may still raise it.
// Closing twice is fine.
func (g *Signal) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	if raised := g.context.api.SignalCount(g.handle); raised != g.launched {
		return fmt.Errorf("%w: signal: raised %d times of %d", ErrInFlight, raised, g.launched)
	}
	g.context.api.FreeSignal(g.handle)
	g.closed = true
	return g.file.Close()
}
