// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// one moves the content of one transfer, under a fault.
func (s *sender) one(ctx context.Context, number int, fault Fault) (Transfer, error) {
	n, err := s.fill(number)
	if err != nil {
		return Transfer{}, err
	}
	t := Transfer{Number: number, Bytes: n, Digest: blocks.Digest(s.pool.Bytes(), blocks.Prefix(s.order, n))}
	if err := s.peer.Send(order{Receive: &receiveOrder{Number: number, Bytes: n, Digest: t.Digest, Evade: s.config.Plan.Recover && fault == Stall}}); err != nil {
		return t, err
	}
	var request *transfer.Request
	watched, cancel := s.peer.watch(ctx)
	defer cancel()
	select {
	case request = <-s.requests:
	case <-watched.Done():
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		return t, s.peer.failure(ctx, "before it asked for data")
	}
	s.meter.Forget()
	f := &inFault{sender: s, fault: fault}
	if err := f.before(ctx); err != nil {
		return t, err
	}
	region, part, err := s.cache.region(ownership.Reads, n)
	if err != nil {
		return t, err
	}
	session, err := request.Send(transfer.SendSpec{Region: region, Blocks: part})
	if err != nil {
		return t, errors.Join(err, region.Deregister())
	}
	if err := f.during(ctx, session); err != nil {
		return t, err
	}
	return t, s.conclude(ctx, session, &t, fault)
}

// fill makes the content of one transfer and returns its size. The memory was
// released by the one before.
func (s *sender) fill(number int) (n int64, err error) {
	err = s.cache.write(func() error {
		n, err = s.content(number)
		return err
	})
	return n, err
}

func (s *sender) content(number int) (int64, error) {
	if s.config.Source == nil {
		blocks.Fill(s.pool.Bytes(), s.order, s.config.Plan.Seed, uint64(number))
		return s.config.Plan.Shape.Bytes(), nil
	}
	n, err := blocks.ReadFrom(s.pool.Bytes(), s.order, s.config.Source)
	if err == nil && n == 0 {
		err = errors.New("move: the input became shorter while it was read")
	}
	return n, err
}

// conclude waits for the answer and the proof on both sides.
func (s *sender) conclude(ctx context.Context, session *transfer.Session, t *Transfer, fault Fault) error {
	if err := session.Wait(ctx); err != nil {
		if outcome := (*transfer.OutcomeError)(nil); !errors.As(err, &outcome) {
			return err
		}
	}
	a := session.Answer()
	t.Session, t.Outcome, t.Cause = session.Name().String(), a.Outcome.String(), string(a.Cause)
	err := session.Drain(ctx)
	switch {
	case errors.Is(err, ownership.ErrFatal):
		return s.fatal(ctx, session)
	case err != nil:
		return err
	}
	t.Released = true
	if t.Outcome == Succeeded {
		t.PostToDone = s.meter.Last()
	}
	s.seen.wait(ctx, session.Name())
	if fault == Kill { // nobody is left to ask
		return &Failure{Kind: KindPeer, Text: "the copy had ended inside the post, before the receiver was killed: nothing was in flight (over TCP it would be)"}
	}
	got, err := s.peer.next(ctx, func(r reply) bool { return r.Received != nil })
	if err != nil {
		return err
	}
	t.Receiver = got.Received
	return nil
}

// fatal records what the containment callback was called for.
func (s *sender) fatal(ctx context.Context, session *transfer.Session) error {
	select {
	case c := <-s.contained:
		s.report.Contained = fmt.Sprintf("session %v had no proof at its deadline, %v after its first doubt", c.Session, s.config.Plan.Grace)
		for _, r := range c.Retained {
			s.report.Retained = append(s.report.Retained, fmt.Sprint(r))
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
