// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
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
	if err := checkBlocks(s.Buffer, s.Blocks, d == scattering); err != nil {
		return nil, err
	}
	for i := range s.Blocks {
		if !reachable(s.Blocks[i].Memory) {
			return nil, &ExtentError{"block", i, "is not memory of the host"}
		}
	}
	if !reachable(s.Buffer.Memory) {
		return nil, &ExtentError{"buffer", 0, "is not memory of the host"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, backend.ErrClosed
	}
	s.Blocks, s.After = slices.Clone(s.Blocks), slices.Clone(s.After)
	release, err := holdAll(&s)
	if err != nil {
		return nil, err
	}
	c.copies++
	return &copied{stage: built, work: &cpuWork{engine: c, spec: s, direction: d, release: release}}, nil
}

// reachable reports whether the CPU can copy m. Memory of a device has no bytes.
func reachable(m Memory) bool {
	h, ok := m.(Host)
	return ok && h.Bytes() != nil
}

type cpuWork struct {
	engine    *CPU
	spec      Spec
	direction direction
	release   func()
}

func (w *cpuWork) start() backend.Observation {
	for _, e := range w.spec.After {
		if err := e.Synchronize(); err != nil {
			return backend.Observation{Status: backend.NotSubmitted, Err: fmt.Errorf("gather: what the copy waits for: %w", err)}
		}
	}
	_ = w.direction.runs(&w.spec, func(dst, src Extent) error { // it has no error to pass on
		copy(hostBytes(dst), hostBytes(src))
		return nil
	})
	return backend.Observation{Status: backend.Done}
}

func hostBytes(e Extent) []byte { return e.Memory.(Host).Bytes()[e.Offset : e.Offset+e.Len] }

// poll is never asked: start ends it.
func (w *cpuWork) poll() backend.Observation { return backend.Observation{Status: backend.Done} }

func (w *cpuWork) free() error {
	w.release()
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	w.engine.copies--
	return nil
}
