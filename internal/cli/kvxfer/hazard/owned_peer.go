// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// receive orders the peer of the owned half to ask for data.
type receive struct {
	Region string `json:"receive"` // counted or uncounted; empty: look at the counted one
}

// The two regions of each side of the owned half.
const (
	regionCounted   = "counted"
	regionUncounted = "uncounted"
)

// answered is how a receive ended at the peer: its outcome, and that its memory
// was released on proof.
type answered struct {
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
}

// serveOwned is the second process of the owned half: the passive side, like
// any other user of the library.
func serveOwned(ctx context.Context, job Job, parent *proc.Lines) error {
	e, err := newOwnedEnd(job.Op.peer(), &job, func(c ownership.Containment) error {
		return parent.Send(answered{Error: fmt.Sprintf("second process: FATAL: session %v", c.Session)})
	}, nil)
	if err == nil {
		err = e.dial(ctx, job.Control)
	}
	if err != nil {
		return errors.Join(err, parent.Send(ready{Error: err.Error()}))
	}
	if job.Op == Read {
		job.Op.fillSource(e.data.Bytes(), job.Seed)
	}
	if err := parent.Send(ready{}); err != nil {
		return err
	}
	for {
		var order receive
		if err := parent.Recv(ctx, &order); err != nil {
			return fmt.Errorf("hazard: the first process is gone: %w", err)
		}
		if order.Region == "" {
			return parent.Send(counted{Map: mapOf(e.data.Bytes(), job.Pieces)})
		}
		var a answered
		if a.Outcome, err = e.ask(ctx, order.Region); err != nil {
			a.Error = err.Error()
		}
		if err := parent.Send(a); err != nil {
			return err
		}
	}
}

func (e *ownedEnd) dial(ctx context.Context, addr string) error {
	stream, err := rpc.Dial(ctx, addr)
	if err != nil {
		return err
	}
	_, err = e.ep.Attach(ctx, stream)
	return err
}

// ask asks for the whole region, or offers it, and returns the outcome once the
// region was released on proof.
func (e *ownedEnd) ask(ctx context.Context, region string) (string, error) {
	s, err := e.publish(ctx, region)
	if err != nil {
		return "", err
	}
	if err := s.Wait(ctx); err != nil && ctx.Err() != nil {
		return "", err
	}
	outcome := s.Answer().Outcome.String()
	return outcome, s.Drain(ctx)
}

func (e *ownedEnd) publish(ctx context.Context, region string) (*transfer.Session, error) {
	r, blocks, active := e.regions[region], e.blocks(region), e.job.Op.us()
	if e.job.Op == Read {
		return e.ep.Offer(ctx, transfer.OfferSpec{Region: r, Blocks: blocks, To: transfer.ToPeers(active), Label: region})
	}
	return e.ep.Receive(ctx, transfer.ReceiveSpec{Region: r, Blocks: blocks, From: transfer.FromPeers(active), Label: region})
}
