// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

// Producer makes the event of the kernel that writes a transfer's source the
// transfer's local claim: nothing is sent before the event is done. An event
// that was never recorded refuses the transfer, because it would wait for
// nothing and send what is not there yet.
func Producer(e *cuda.Event) backend.Local {
	return &copied{stage: built, work: producer{e}}
}

type producer struct{ event *cuda.Event }

func (p producer) start() backend.Observation {
	if state, err := p.event.Query(); state == cuda.EventNotRecorded {
		return backend.Observation{Status: backend.NotSubmitted, Err: err}
	}
	return p.poll()
}

func (p producer) poll() backend.Observation { return observe(p.event) }

func (producer) free() error { return nil }

// observe is the one place where an event becomes a status.
func observe(e *cuda.Event) backend.Observation {
	switch state, err := e.Query(); state {
	case cuda.EventDone:
		return backend.Observation{Status: backend.Done}
	case cuda.EventPending:
		return backend.Observation{Status: backend.InProgress}
	default:
		return backend.Observation{Status: backend.Error, Err: err}
	}
}
