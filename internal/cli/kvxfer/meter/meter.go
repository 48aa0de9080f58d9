// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package meter takes the time of a backend's operations without changing what
// they do, and tells when one was posted.
package meter

import (
	"errors"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend"
)

// Backend passes everything on and takes the time: how long each operation took
// from its post to its DONE. It has the concurrency of what it wraps.
type Backend struct {
	backend.Backend
	// Posted gets what a Post answered, unless nobody took the one before.
	Posted chan backend.Observation

	mu   sync.Mutex
	took time.Duration       // guarded by mu; of the operation that was DONE last
	ops  []backend.Operation // guarded by mu; scratch of Poll
}

// New wraps a backend.
func New(b backend.Backend) *Backend {
	return &Backend{Backend: b, Posted: make(chan backend.Observation, 1)}
}

// metered is one operation under the clock.
type metered struct {
	backend.Operation
	meter *Backend
	began time.Time
	ended bool // guarded by meter.mu
}

// Prepare wraps the operation.
func (m *Backend) Prepare(r backend.Request) (backend.Operation, error) {
	op, err := m.Backend.Prepare(r)
	if err != nil {
		return nil, err
	}
	return &metered{Operation: op, meter: m}, nil
}

// Post starts the clock.
func (o *metered) Post() backend.Observation {
	o.began = time.Now()
	seen := o.Operation.Post()
	o.meter.saw(o, seen)
	select {
	case o.meter.Posted <- seen:
	default: // nobody took the one before: nobody waits
	}
	return seen
}

// Poll unwraps the operations: the backend knows only its own.
func (m *Backend) Poll(ops []backend.Operation, out []backend.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops = m.ops[:0]
	for _, op := range ops {
		m.ops = append(m.ops, op.(*metered).Operation)
	}
	m.Backend.Poll(m.ops, out)
	for i, op := range ops {
		m.stop(op.(*metered), out[i])
	}
}

func (m *Backend) saw(o *metered, seen backend.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop(o, seen)
}

// stop stops the clock; mu is held.
func (m *Backend) stop(o *metered, seen backend.Observation) {
	if seen.Status == backend.Done && !o.ended {
		o.ended = true
		m.took = time.Since(o.began)
	}
}

// Last is how long the operation took that was DONE last.
func (m *Backend) Last() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took
}

// Forget drops what an earlier Post answered.
func (m *Backend) Forget() {
	select {
	case <-m.Posted:
	default:
	}
}

// Fence passes on, where the backend can do it.
func (m *Backend) Fence() error {
	if f, ok := m.Backend.(backend.Fencer); ok {
		return f.Fence()
	}
	return errors.ErrUnsupported
}
