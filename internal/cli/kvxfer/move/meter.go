// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"errors"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/backend"
)

// meter is a backend that passes everything on and takes the time: how long
// each operation took from its post to its DONE, and when one was posted.
type meter struct {
	backend.Backend
	posted chan backend.Observation // what each Post answered

	mu   sync.Mutex
	took time.Duration       // guarded by mu; of the operation that was DONE last
	ops  []backend.Operation // guarded by mu; scratch of Poll
}

func newMeter(b backend.Backend) *meter {
	return &meter{Backend: b, posted: make(chan backend.Observation, 1)}
}

// metered is one operation under the clock.
type metered struct {
	backend.Operation
	meter *meter
	began time.Time
	ended bool // guarded by meter.mu
}

// Prepare wraps the operation.
func (m *meter) Prepare(r backend.Request) (backend.Operation, error) {
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
	case o.meter.posted <- seen:
	default: // nobody took the one before: nobody waits
	}
	return seen
}

// Poll unwraps the operations: the backend knows only its own.
func (m *meter) Poll(ops []backend.Operation, out []backend.Observation) {
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

func (m *meter) saw(o *metered, seen backend.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop(o, seen)
}

// stop stops the clock; mu is held.
func (m *meter) stop(o *metered, seen backend.Observation) {
	if seen.Status == backend.Done && !o.ended {
		o.ended = true
		m.took = time.Since(o.began)
	}
}

// last is how long the operation took that was DONE last.
func (m *meter) last() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took
}

// forget drops what an earlier Post answered.
func (m *meter) forget() {
	select {
	case <-m.posted:
	default:
	}
}

// Fence passes on, where the backend can do it.
func (m *meter) Fence() error {
	if f, ok := m.Backend.(backend.Fencer); ok {
		return f.Fence()
	}
	return errors.ErrUnsupported
}
