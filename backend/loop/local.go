// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

// Local is a copy inside of one process under the fabric's clock: the gather or
// scatter of a device, for tests and for processes without one. It implements
// [backend.Local].
type Local struct {
	fabric   *Fabric
	from, to []backend.Segment

	// All of it guarded by fabric.mu.
	fault    Fault
	started  bool
	released bool
	at       int   // the segment that is copied next
	landed   int64 // bytes that were copied
	end      int64 // bytes after which copying stops for good
	wait     int   // ticks before the next byte
	answer   backend.Observation
	done     bool // Done was answered
}

var _ backend.Local = (*Local)(nil)

// Local makes a copy of segment i of from to segment i of to, of the same length;
// a segment a tick. The memory must not be Go-heap memory. Lists that do not fit
// are ErrInvalid.
func (f *Fabric) Local(from, to []backend.Segment) (*Local, error) {
	if len(from) == 0 || len(from) != len(to) {
		return nil, fmt.Errorf("loop: local copy of %d to %d segments: %w", len(from), len(to), backend.ErrInvalid)
	}
	l := &Local{fabric: f, from: slices.Clone(from), to: slices.Clone(to)}
	for i := range from {
		if from[i].Len == 0 || from[i].Len != to[i].Len {
			return nil, fmt.Errorf("loop: local copy: segment %d: %d bytes to %d: %w", i, from[i].Len, to[i].Len, backend.ErrInvalid)
		}
		l.end += int64(from[i].Len)
	}
	return l, nil
}

// Inject makes the copy suffer a fault, before it is started: NotSubmitted, or
// Error or Lost once After bytes were copied, of which Late more follow after
// Delay ticks. What else a Fault has is not for a local copy. A fault that
// contradicts itself is ErrInvalid.
func (l *Local) Inject(fault Fault) error {
	if err := fault.validate(); err != nil {
		return fmt.Errorf("loop: inject: %w: %w", backend.ErrInvalid, err)
	}
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	l.fault = fault
	return nil
}

// Start implements backend.Local.
func (l *Local) Start() backend.Observation {
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	if l.started || l.released {
		return backend.Observation{Status: backend.Error, Err: fmt.Errorf("loop: local copy was started before: %w", backend.ErrInvalid)}
	}
	l.started = true
	if l.fault.Status == backend.NotSubmitted {
		l.answer = backend.Observation{Status: backend.NotSubmitted, Err: l.cause()}
		return l.answer
	}
	l.fabric.locals = append(l.fabric.locals, l)
	if l.fault.Status != 0 && l.fault.After == 0 {
		l.show()
		return l.answer
	}
	return backend.Observation{Status: backend.Submitted}
}

// Poll implements backend.Local. With Config.Auto it is a tick.
func (l *Local) Poll() backend.Observation {
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	if l.fabric.config.Auto {
		l.fabric.tick(nil)
	}
	switch {
	case l.answer.Status != 0:
		return l.answer
	case l.at < len(l.from):
		return backend.Observation{Status: backend.InProgress}
	}
	l.done = true
	return backend.Observation{Status: backend.Done}
}

// Release implements backend.Local.
func (l *Local) Release() error {
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	switch {
	case l.released:
		return fmt.Errorf("loop: release local copy: it was released: %w", backend.ErrClosed)
	case l.started && !l.done && l.answer.Status != backend.NotSubmitted:
		return fmt.Errorf("loop: release local copy: %w", backend.ErrInFlight)
	}
	l.released = true
	return nil
}

// Released reports whether the copy was released.
func (l *Local) Released() bool {
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	return l.released
}

// advance copies one segment and reports whether more may follow; fabric.mu is held.
func (l *Local) advance() bool {
	if l.wait > 0 {
		l.wait--
		return true
	}
	if l.landed >= l.end {
		return false
	}
	n := int64(l.from[l.at].Len)
	copy(bytesAt(l.to[l.at].Addr, n), bytesAt(l.from[l.at].Addr, n))
	l.at++
	l.landed += n
	l.fabric.stats.Bytes += uint64(n)
	if l.answer.Status != 0 {
		l.fabric.stats.LateBytes += uint64(n)
	}
	if l.answer.Status == 0 && l.fault.Status != 0 && l.landed >= l.fault.After {
		l.show()
	}
	return l.landed < l.end
}

// show answers with the fault from now on.
func (l *Local) show() {
	l.answer = backend.Observation{Status: l.fault.Status, Err: l.cause()}
	l.wait = l.fault.Delay
	if l.fault.Late < l.end-l.landed {
		l.end = l.landed + l.fault.Late
	}
}

func (l *Local) cause() error {
	if l.fault.Err != nil {
		return l.fault.Err
	}
	return fmt.Errorf("loop: local copy: injected %v after %d bytes", l.fault.Status, l.fault.After)
}
