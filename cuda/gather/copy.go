// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"errors"
	"fmt"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
)

// stage is how far a copy is.
type stage uint8

const (
	_        stage = iota
	built          // never started
	running        // submitted
	ended          // done, on proof
	refused        // provably never begun
	inDoubt        // nobody knows; for good
	released       // let go of
)

// work is how an engine carries one copy out.
type work interface {
	start() backend.Observation
	poll() backend.Observation
	// free lets go of what the work holds; it has ended or never began.
	free() error
}

// copied is a copy of any engine: the rules of backend.Local around its work.
type copied struct {
	mu    sync.Mutex
	stage stage // guarded by mu
	err   error // guarded by mu; why it was refused, or is in doubt
	work  work
}

var errNotStarted = errors.New("gather: copy was not started")

// Start submits the copy, once. A second call answers Error and submits
// nothing, but the first may still be running.
func (c *copied) Start() backend.Observation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != built {
		return backend.Observation{Status: backend.Error, Err: fmt.Errorf("%w: copy was started before", backend.ErrInvalid)}
	}
	return c.take(c.work.start())
}

// Poll asks for the state of a started copy.
func (c *copied) Poll() backend.Observation {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.stage {
	case running:
		return c.take(c.work.poll())
	case ended:
		return backend.Observation{Status: backend.Done}
	case inDoubt:
		return backend.Observation{Status: backend.Error, Err: c.err}
	case refused:
		return backend.Observation{Status: backend.NotSubmitted, Err: c.err}
	case released:
		return backend.Observation{Status: backend.Lost, Err: backend.ErrClosed}
	}
	return backend.Observation{Status: backend.Error, Err: errNotStarted}
}

// take remembers an answer. The caller holds mu.
func (c *copied) take(o backend.Observation) backend.Observation {
	switch o.Status {
	case backend.Submitted, backend.InProgress:
		c.stage = running
	case backend.Done:
		c.stage = ended
	case backend.NotSubmitted:
		c.stage, c.err = refused, o.Err
	default:
		c.stage, c.err = inDoubt, o.Err
	}
	return o
}

// Release lets go of the copy and the memory it holds.
func (c *copied) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.stage {
	case released:
		return nil
	case running:
		return fmt.Errorf("%w: copy is running", backend.ErrInFlight)
	case inDoubt:
		return fmt.Errorf("%w: copy is in doubt: %w", backend.ErrInFlight, c.err)
	}
	if err := c.work.free(); err != nil {
		return err
	}
	c.stage = released
	return nil
}
