// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"github.com/kvxfer/kvxfer/backend"
)

// Agent is a backend that can be ended under what is in flight.
type Agent interface {
	backend.Backend
	backend.Fencer
}

// proves reports whether the end of the agent is proof for our own memory, both
// what our operations use and what peers reach by themselves.
func proves(a Agent) bool {
	l := a.Limits()
	return l.OwnFence && l.PassiveFence
}
