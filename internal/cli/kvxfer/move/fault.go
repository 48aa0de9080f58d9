// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/transfer"
)

// How a slow receiver lives: mostly stopped, in small pieces, so that one
// transfer takes many of them and still ends well within the sender's wait.
const (
	slowRuns  = 2 * time.Millisecond
	slowStops = 20 * time.Millisecond
)

// inFault is what happens to the receiver in one transfer.
type inFault struct {
	sender *sender
	fault  Fault
}

// before stops the receiver before the post, so that the operation is certainly
// in flight when the fault comes: a stopped process makes no progress.
func (f *inFault) before(ctx context.Context) error {
	if f.fault == NoFault {
		return nil
	}
	if err := f.sender.peer.Stop(ctx); err != nil {
		return err
	}
	f.sender.note("SIGSTOP, confirmed", "stopped")
	return nil
}

// during goes on when the operation was posted.
func (f *inFault) during(ctx context.Context, session *transfer.Session) error {
	if f.fault == NoFault {
		return nil
	}
	var seen backend.Observation
	select {
	case seen = <-f.sender.meter.Posted:
	case <-session.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case f.fault == Kill:
		f.sender.note("SIGKILL", "killed")
		return f.sender.peer.Kill()
	case f.fault == Stall && seen.Status != backend.Done:
		if err := session.Wait(ctx); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f.sender.config.Plan.Recover {
			return f.recover(ctx, session)
		}
	case f.fault == Slow:
		if err := f.slow(ctx, session); err != nil {
			return err
		}
	}
	return f.resume(ctx)
}

func (f *inFault) resume(ctx context.Context) error {
	err := f.sender.peer.Continue(ctx)
	f.sender.note("SIGCONT", "continued")
	return err
}

// slow lets the receiver run a little, again and again, until the transfer has
// its answer.
func (f *inFault) slow(ctx context.Context, session *transfer.Session) error {
	for {
		select {
		case <-session.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(slowStops):
		}
		if err := f.sender.peer.Continue(ctx); err != nil {
			return err
		}
		select {
		case <-session.Done():
		case <-time.After(slowRuns):
		}
		if err := f.sender.peer.Stop(ctx); err != nil {
			return errors.Join(err, f.sender.peer.Continue(ctx))
		}
	}
}
