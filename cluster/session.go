// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/ownership"
)

// Owner is what a rank holds of a request. A *transfer.Session is one.
type Owner interface {
	// State returns everything that is known of it, and false once it is closed.
	State() (ownership.SessionState, bool)
	// Changed returns a channel that is closed when State may have changed.
	Changed() <-chan struct{}
	// Cancel ends it, unless it has an outcome.
	Cancel() (ownership.CancelResult, error)
	// Close gives its memory back; refused (ownership.ErrRefused) while anybody
	// may still touch it.
	Close() error
}

// Drain stands where a request of one rank would call transfer.Session.Drain:
// it tells the other ranks how the owner stands, cancels it when the request
// has ended elsewhere, and closes it when its own claims and the ranks both
// allow that. Then the request is closed too.
//
// If ctx ends first nothing was given back, the error has both the context's
// and what is waited for, and Drain may be called again.
func (q *Request) Drain(ctx context.Context, owner Owner) error {
	ended, retired := q.Ended(), q.Retired()
	for {
		moved := owner.Changed()
		if err := q.publishOf(owner); err != nil {
			return err
		}
		select {
		case <-moved:
			continue
		case <-ended:
			ended = nil
			if _, err := owner.Cancel(); err != nil {
				return fmt.Errorf("cluster: %v ended elsewhere: %w", q.session, err)
			}
			continue
		case <-retired:
		case <-ctx.Done():
			return fmt.Errorf("cluster: %v: %w; waiting for %v", q.session, context.Cause(ctx), q.Waits())
		}
		err := owner.Close()
		if err == nil {
			return q.Close()
		}
		if !errors.Is(err, ownership.ErrRefused) {
			return err
		}
		select { // a doubt came after the last word of this rank
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("cluster: %v: %w: %w", q.session, context.Cause(ctx), err)
		}
	}
}

// publishOf says what the owner's state means for the other ranks.
func (q *Request) publishOf(owner Owner) error {
	state, owned := owner.State()
	if !owned { // closed by somebody else, so that nothing can touch it
		return q.Publish(State{outcome.Cancelled, true})
	}
	if state.Outcome == outcome.Active {
		return nil
	}
	return q.Publish(State{state.Outcome, state.Settled})
}

// Waits lists the ranks that the request waits for, and why; none once it is
// retired.
func (q *Request) Waits() []Wait {
	q.rank.mu.Lock()
	defer q.rank.mu.Unlock()
	if q.system.Retired() {
		return nil
	}
	return q.waits()
}
