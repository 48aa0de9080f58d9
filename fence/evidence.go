// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
)

// Evidence is what somebody has seen: a Destroyed, an Exited or a Statement.
type Evidence interface {
	// String says in one line what was seen, for logs.
	String() string
	validate() error
}

// Destroyed is evidence that our own agent is no more. Destroy makes it.
type Destroyed struct {
	made      bool
	transport string
}

// Destroy ends a backend's agent at once, whatever is in flight. No call of the
// backend may be running, and none may be made afterwards. A backend that is no
// backend.Fencer is backend.ErrUnavailable, and nothing was done to it.
func Destroy(b backend.Backend) (Destroyed, error) {
	f, ok := b.(backend.Fencer)
	if !ok {
		return Destroyed{}, fmt.Errorf("fence: backend %s cannot be destroyed under operations in flight: %w", b.Limits().Transport, backend.ErrUnavailable)
	}
	d := Destroyed{made: true, transport: b.Limits().Transport}
	if err := f.Fence(); err != nil {
		return Destroyed{}, fmt.Errorf("fence: destroy the agent: %w", err)
	}
	return d, nil
}

// String says that the agent was destroyed.
func (d Destroyed) String() string { return "our own agent of " + d.transport + " was destroyed" }

func (d Destroyed) validate() error {
	if !d.made {
		return errors.New("Destroyed is zero: Destroy makes it")
	}
	return nil
}

// Exited is evidence that a peer's process has ended. Process.Gone makes it.
type Exited struct{ process Process }

// Process returns the process that has ended.
func (e Exited) Process() Process { return e.process }

// String says which process has ended.
func (e Exited) String() string { return fmt.Sprintf("%v has ended", e.process) }

func (e Exited) validate() error {
	if e.process.PID == 0 {
		return errors.New("Exited is zero: Process.Gone makes it")
	}
	return nil
}
