// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

// Spec describes a copy: blocks scattered over one or more memories, and the
// buffer in which they lie one behind the other, in this order.
type Spec struct {
	Buffer Extent
	Blocks []Extent
	// After lists what has to end before the copy begins: the events of the
	// kernels that write what it reads. All must be recorded by Start.
	After []*cuda.Event

	_ struct{}
}

// Engine builds copies. What it refuses matches [backend.ErrInvalid],
// [ErrFull] or [backend.ErrClosed], and was never begun.
type Engine interface {
	// Gather builds a copy of the blocks into the buffer.
	Gather(Spec) (backend.Local, error)
	// Scatter builds a copy of the buffer into the blocks.
	Scatter(Spec) (backend.Local, error)
	// Close frees the engine; [backend.ErrInFlight] while a copy of it was not
	// released. Closing twice is fine.
	Close() error
}
