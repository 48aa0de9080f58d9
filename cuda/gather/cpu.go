// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

// Host is memory that the CPU reaches: its Bytes are not nil while it is open.
type Host interface {
	Memory
	Bytes() []byte
}

// CPU is an engine that copies in Start, on the caller's goroutine. It needs
// nothing; the zero value is ready.
type CPU struct {
	mu     sync.Mutex
	copies int  // guarded by mu; not released
	closed bool // guarded by mu
}

// Gather builds a copy of the blocks into the buffer. Every memory must be a
// [Host]. Start waits for the events of After.
func (c *CPU) Gather(s Spec) (backend.Local, error) { return c.build(s, gathering) }

// Scatter builds a copy of the buffer into the blocks.
func (c *CPU) Scatter(s Spec) (backend.Local, error) { return c.build(s, scattering) }

// Close refuses while a copy was not released.
func (c *CPU) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copies > 0 {
		return fmt.Errorf("%w: %d copies", backend.ErrInFlight, c.copies)
	}
	c.closed = true
	return nil
}

func (c *CPU) build(s Spec, d direction) (backend.Local, error) {
	p, err := newPlan(&s, d)
	if err != nil {
		return nil, err
	}
	w := &cpuWork{engine: c, plan: p, direction: d, after: slices.Clone(s.After)}
	if err := c.admit(w); err != nil {
		p.forget()
		return nil, err
	}
	return &copied{stage: built, work: w}, nil
}

func (c *CPU) admit(w *cpuWork) error {
	for i, m := range w.plan.memories {
		switch {
		case reachable(m):
		case i == 0:
			return &ExtentError{"buffer", 0, "is not memory of the host"}
		default:
			return &ExtentError{"memory", i, "is not memory of the host"}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return backend.ErrClosed
	}
	var err error
	if w.release, err = w.plan.hold(); err != nil {
		return err
	}
	c.copies++
	return nil
}

// reachable reports whether the CPU can copy m. Memory of a device has no bytes.
func reachable(m Memory) bool {
	h, ok := m.(Host)
	return ok && h.Bytes() != nil
}

type cpuWork struct {
	engine    *CPU
	plan      *plan
	direction direction
	after     []*cuda.Event
	release   func()
}

func (w *cpuWork) start() backend.Observation {
	for _, e := range w.after {
		if err := e.Synchronize(); err != nil {
			return backend.Observation{Status: backend.NotSubmitted, Err: fmt.Errorf("gather: what the copy waits for: %w", err)}
		}
	}
	data := make([][]byte, len(w.plan.memories))
	for i, m := range w.plan.memories {
		data[i] = m.(Host).Bytes()
	}
	for _, r := range w.plan.runs {
		block, part := data[r.memory][r.offset:r.offset+r.len], data[0][r.buffer:r.buffer+r.len]
		if w.direction == scattering {
			block, part = part, block
		}
		copy(part, block)
	}
	return backend.Observation{Status: backend.Done}
}

// poll is never asked: start ends it.
func (w *cpuWork) poll() backend.Observation { return backend.Observation{Status: backend.Done} }

func (w *cpuWork) free() error {
	w.release()
	w.plan.forget()
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	w.engine.copies--
	return nil
}
