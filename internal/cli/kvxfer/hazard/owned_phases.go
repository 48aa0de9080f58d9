// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

func (t *ownedTransfer) post(ctx context.Context) (*transfer.Session, error) {
	session, err := t.send(ctx, regionCounted, func() error {
		if err := t.child.Stop(ctx); err != nil {
			return err
		}
		t.rec.step(Stopped, "SIGSTOP, confirmed by wait4")
		t.forget()
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case seen := <-t.end.meter.Posted:
		t.rec.half.InFlight = seen.Status == backend.Submitted || seen.Status == backend.InProgress
		t.rec.step(Posted, fmt.Sprintf("%v; claim PUBLISHED", seen.Status))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !t.rec.half.InFlight { // the copy ended inside the post: the answer is there, or comes at once
		return session, session.Wait(ctx)
	}
	return session, nil
}

// cancel cancels, and then tries everything that an engine would do next.
func (t *ownedTransfer) cancel(session *transfer.Session) error {
	result, err := session.Cancel()
	if err != nil {
		return err
	}
	t.rec.step(Cancelled, fmt.Sprintf("outcome %v; memory %v", result.Outcome, result.Physical))
	if !t.rec.half.InFlight {
		t.rec.step(Released, "the operation had ended")
		t.rec.step(Reused, "owned until close")
		return nil
	}
	err = session.Close()
	if !errors.Is(err, ownership.ErrRefused) {
		return fmt.Errorf("close of a transfer in flight: %w", errOr(err, "allowed"))
	}
	t.rec.step(Released, "kept: close is refused")
	err = t.end.regions[regionCounted].Reuse()
	if !errors.Is(err, ownership.ErrRefused) {
		return fmt.Errorf("reuse under a transfer in flight: %w", errOr(err, "allowed"))
	}
	t.rec.step(Reused, "reuse is refused: "+whoHolds(session))
	return nil
}

func errOr(err error, otherwise string) error {
	if err == nil {
		return errors.New(otherwise)
	}
	return err
}

// whoHolds gives the state of the claim that stands in the way.
func whoHolds(session *transfer.Session) string {
	state, owned := session.State()
	if !owned || len(state.Pieces) == 0 || len(state.Pieces[0].Claims) == 0 {
		return "nobody"
	}
	c := state.Pieces[0].Claims[0]
	return fmt.Sprintf("claim %v", c.State)
}

// doubt waits until our own wait has run out.
func (t *ownedTransfer) doubt(ctx context.Context, session *transfer.Session) error {
	if !t.rec.half.InFlight {
		t.rec.step(Overdue, "it did not")
		return nil
	}
	if err := t.await(ctx, claim.InDoubt); err != nil {
		return err
	}
	t.rec.step(Overdue, "overdue: claim IN_DOUBT, reported")
	return nil
}

func (t *ownedTransfer) prove(ctx context.Context, session *transfer.Session) error {
	if t.rec.half.InFlight {
		if err := t.await(ctx, claim.FailedQuiesced); err != nil {
			return err
		}
		t.rec.step(Ended, "DONE, by its own handle: FAILED_QUIESCED")
	} else {
		t.rec.step(Ended, "DONE inside the post: DRAINED")
	}
	if err := session.Drain(ctx); err != nil {
		return err
	}
	if err := t.end.regions[regionCounted].Reuse(); err != nil {
		return err
	}
	t.rec.step(Closed, "released; another request may have it")
	t.hazard.Op.fillNext(t.end.data.Bytes(), t.seed)
	return nil
}

// await waits for a move of the claim.
func (t *ownedTransfer) await(ctx context.Context, want claim.State) error {
	for {
		select {
		case m := <-t.moved:
			if m.To == want {
				return nil
			}
		case c := <-t.contained:
			return fmt.Errorf("FATAL: session %v", c.Session)
		case <-t.child.Done():
			return fmt.Errorf("second process %v", t.child.State())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// count lets the peer look, after one more transfer over the same connection:
// as in the other half, whatever was still on its way has arrived by then.
func (t *ownedTransfer) count(ctx context.Context, session *transfer.Session) error {
	outcome := session.Answer().Outcome.String()
	if err := t.reply(ctx, outcome); err != nil {
		return err
	}
	if err := t.uncounted(ctx); err != nil {
		return err
	}
	m, err := t.look(ctx)
	if err != nil {
		return err
	}
	half := &t.rec.half
	half.Map, half.Arrived, half.Outcome = m, sum(m), outcome
	t.rec.step(Outcome, "the caller was told: "+outcome)
	return nil
}

// look counts the buffer that the operation has written: the peer's, or ours.
func (t *ownedTransfer) look(ctx context.Context) ([]blocks.Origins, error) {
	if t.hazard.Op == Read {
		return mapOf(t.end.data.Bytes(), t.hazard.Pieces), nil
	}
	if err := t.child.Send(receive{}); err != nil {
		return nil, err
	}
	var c counted
	err := t.child.Recv(ctx, &c)
	return c.Map, err
}

// reply waits for the peer's word that it has released its memory.
func (t *ownedTransfer) reply(ctx context.Context, outcome string) error {
	var a answered
	if err := t.child.Recv(ctx, &a); err != nil {
		return err
	}
	if a.Error != "" {
		return errors.New("second process: " + a.Error)
	}
	if a.Outcome != outcome {
		return fmt.Errorf("outcome %s here and %s at the peer", outcome, a.Outcome)
	}
	return nil
}
