// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"sync/atomic"

	"github.com/kvxfer/kvxfer/backend"
)

// Agent is a backend that can be ended under what is in flight.
type Agent interface {
	backend.Backend
	backend.Fencer
}

// agent is the backend of one life. An endpoint that stops deregisters its
// memory; where the agent was ended before, there is nothing left to deregister.
type agent struct {
	Agent
	ended atomic.Bool
}

// Fence ends the agent.
func (a *agent) Fence() error {
	a.ended.Store(true)
	return a.Agent.Fence()
}

// Deregister passes on, unless the agent has ended.
func (a *agent) Deregister(r backend.Registration) error {
	err := a.Agent.Deregister(r)
	if a.ended.Load() && errors.Is(err, backend.ErrClosed) {
		return nil
	}
	return err
}

// proves reports whether the end of the agent is proof for our own memory, both
// what our operations use and what peers reach by themselves.
func (a *agent) proves() bool {
	l := a.Limits()
	return l.OwnFence && l.PassiveFence
}
