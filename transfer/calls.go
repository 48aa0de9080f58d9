// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
)

// calls counts who is inside of the backend, but for the poller, so that an agent
// can be destroyed with nobody in it.
type calls struct {
	mu       sync.Mutex
	running  int  // guarded by mu; inside, or expected
	shut     bool // guarded by mu; nobody gets in
	stopping bool // guarded by mu; no other life follows
	left     broadcast
}

// enterBackend begins a call of the backend, which ends with leaveBackend. With a
// life it is for that one only: what was prepared for an agent is no business of
// the next.
func (e *Endpoint) enterBackend(only *life) (backend.Backend, error) {
	c := &e.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	now := e.life.Load()
	if c.shut || only != nil && only != now {
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: c.why()}
	}
	c.running++
	return now.backend, nil
}

// expected says that somebody is on his way to the backend, whether he gets in or
// not: he calls leaveBackend when he is done.
func (e *Endpoint) expected() {
	e.calls.mu.Lock()
	defer e.calls.mu.Unlock()
	e.calls.running++
}

func (e *Endpoint) leaveBackend() {
	c := &e.calls
	c.mu.Lock()
	c.running--
	c.mu.Unlock()
	c.left.send()
}

// why says what those hear who do not get in; mu is held.
func (c *calls) why() error {
	if c.stopping {
		return ErrHalted
	}
	return ErrReincarnated
}

// stop says that what is closed stays so, unless it is opened again.
func (c *calls) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
}

// close lets nobody in any more, and waits until all are out.
func (c *calls) close(ctx context.Context) error {
	c.mu.Lock()
	c.shut = true
	c.mu.Unlock()
	for {
		left := c.left.wait()
		c.mu.Lock()
		running := c.running
		c.mu.Unlock()
		if running == 0 {
			return nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *calls) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut, c.stopping = false, false
}

// closed returns why nobody gets in; nil if that is not so.
func (c *calls) closed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.shut {
		return nil
	}
	return c.why()
}
