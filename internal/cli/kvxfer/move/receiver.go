// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// receiver is the second process.
type receiver struct {
	*side
	plan   *Plan
	parent *proc.Lines
	out    *bufio.Writer // nil without Plan.Out
	// With Plan.Recover: what it owns without proof, and the blocks of that.
	retained []string
	others   []*cache
	again    chan struct{} // closed when the sender's other life is attached, or will not be
	parted   chan struct{} // closed when the sender has hung up for good
}

// Receive is the second process: it asks the sender for data as often as its
// parent orders it to, and tells what came of it.
func Receive(ctx context.Context, plan Plan, open Opener, parent *proc.Lines) error {
	err := receive(ctx, &plan, open, parent)
	if err != nil {
		return errors.Join(err, parent.Send(reply{Failed: failureOf(err)}))
	}
	return nil
}

func receive(ctx context.Context, plan *Plan, open Opener, parent *proc.Lines) (err error) {
	r := &receiver{plan: plan, parent: parent}
	if plan.Out != "" {
		file, err := os.Create(plan.Out)
		if err != nil {
			return fmt.Errorf("move: output: %w", err)
		}
		defer func() { _ = file.Close() }()
		r.out = bufio.NewWriterSize(file, 1<<20)
	}
	r.side, err = newSide(plan, sideConfig{
		name: ReceiverName, which: SideReceiver, order: plan.targetOrder(), open: open,
		observe: func(e Event) { _ = parent.Send(reply{Event: &e}) }, // a parent that is gone ends this process
		contain: func(c ownership.Containment) error {
			return parent.Send(reply{Failed: &Failure{Kind: KindPeer, Text: fmt.Sprintf("receiver: FATAL: session %v not settled in time", c.Session)}})
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // what it owns stays owned; this process is about to end
			r.ep.Halt()
			_ = r.endTrace()
		}
	}()
	stream, err := rpc.Dial(ctx, plan.Control)
	if err != nil {
		return err
	}
	link, err := r.ep.Attach(ctx, stream)
	if err != nil {
		return err
	}
	if plan.Recover {
		r.again, r.parted = make(chan struct{}), make(chan struct{})
		go r.attachAgain(ctx, link)
	}
	if err := parent.Send(reply{Ready: &readyReply{Pid: os.Getpid()}}); err != nil {
		return err
	}
	return r.obey(ctx)
}

func (r *receiver) obey(ctx context.Context) error {
	for {
		var o order
		if err := r.parent.Recv(ctx, &o); err != nil {
			return fmt.Errorf("move: the first process is gone: %w", err)
		}
		switch {
		case o.Receive != nil:
			got, err := r.one(ctx, *o.Receive)
			if err != nil {
				return err
			}
			if err := r.parent.Send(reply{Received: &got}); err != nil {
				return err
			}
		case o.Finish:
			return r.finish()
		}
	}
}

// one receives once: into cleared memory, owned until there is proof.
func (r *receiver) one(ctx context.Context, o receiveOrder) (Received, error) {
	mine := blocks.Prefix(r.order, o.Bytes)
	err := r.cache.write(func() error { blocks.Clear(r.pool.Bytes(), mine); return nil })
	if err != nil {
		return Received{}, err
	}
	region, part, err := r.cache.region(ownership.Writes, o.Bytes)
	if err != nil {
		return Received{}, err
	}
	began := time.Now()
	s, err := r.ep.Receive(ctx, transfer.ReceiveSpec{Region: region, Blocks: part, From: transfer.FromPeers(SenderName)})
	if err != nil {
		return Received{}, errors.Join(err, region.Deregister())
	}
	if err := s.Wait(ctx); err != nil {
		if outcome := (*transfer.OutcomeError)(nil); !errors.As(err, &outcome) {
			return Received{}, err
		}
	}
	got := Received{Number: o.Number, Session: s.Name().String()}
	got.Outcome, got.Cause = s.Answer().Outcome.String(), string(s.Answer().Cause)
	if o.Evade && got.Outcome != Succeeded {
		if err := r.evade(s, &got); err != nil {
			return got, err
		}
		select { // until somebody is there to ask next time
		case <-r.again:
		case <-ctx.Done():
		}
		return got, ctx.Err()
	}
	if err := s.Drain(ctx); err != nil {
		return Received{}, err
	}
	got.Took, got.Released = time.Since(began), true
	r.seen.wait(ctx, s.Name())
	if got.Outcome == Succeeded {
		got.Digest = blocks.Digest(r.pool.Bytes(), mine)
		got.Equal = got.Digest == o.Digest
		return got, r.write(mine)
	}
	return got, nil
}

func (r *receiver) write(mine []blocks.Block) error {
	if r.out == nil {
		return nil
	}
	return blocks.WriteTo(r.out, r.pool.Bytes(), mine)
}

func (r *receiver) finish() error {
	var err error
	if r.out != nil {
		err = r.out.Flush()
	}
	if len(r.retained) > 0 {
		return r.leave(err)
	}
	err = errors.Join(err, r.stop())
	f := r.finished(err)
	return r.parent.Send(reply{Finished: &f})
}
