// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/meter"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Recovery is what Plan.Recover did: the sender's other life.
type Recovery struct {
	From   string `json:"from"` // incarnations
	To     string `json:"to"`
	Fenced int    `json:"fenced"` // claims that the end of the agent freed
	Proven string `json:"proven"` // and what it proves
	// Retained is what the sender still owned after it, one line each.
	Retained []string `json:"retained,omitempty"`
}

// recover gets the sender out of its doubt while the receiver still stands still:
// its source is free and used again before the receiver makes another step.
func (f *inFault) recover(ctx context.Context, session *transfer.Session) error {
	s := f.sender
	again := func(agent string) (backend.Backend, error) {
		b, err := s.config.Open(agent)
		if err != nil {
			return nil, err
		}
		s.meter = meter.New(b)
		return s.meter, nil
	}
	r, err := s.ep.Reincarnate(ctx, again)
	if err != nil {
		return err
	}
	recovery := &Recovery{From: r.From.String(), To: r.To.String(), Fenced: r.Fenced, Proven: r.Proven.String()}
	for _, kept := range r.Retained {
		recovery.Retained = append(recovery.Retained, kept.String())
	}
	s.report.Recovery = recovery
	s.note(fmt.Sprintf("agent destroyed, another made: %d freed", r.Fenced), "another life")
	if err := session.Drain(ctx); err != nil {
		return err
	}
	if _, err := s.fill(0); err != nil { // whoever sends this sends another request's bytes
		return err
	}
	s.note("its source has other content", "reused")
	if err := f.resume(ctx); err != nil {
		return err
	}
	return s.blame(ctx, s.accept(ctx), "before it was attached again")
}

// attachAgain dials once more when the stream has ended, for the sender's other
// life, and then waits for its Goodbye.
func (r *receiver) attachAgain(ctx context.Context, link *transfer.Link) {
	defer close(r.parted)
	select {
	case <-link.Done():
	case <-ctx.Done():
		close(r.again)
		return
	}
	stream, err := rpc.Dial(ctx, r.plan.Control)
	if err == nil {
		link, err = r.ep.Attach(ctx, stream)
	}
	close(r.again)
	if err == nil { // the first process waits for it, and says if it does not come
		<-link.Done()
	}
}

// evade leaves what is not proven where it is, and goes on with other blocks.
func (r *receiver) evade(s *transfer.Session, got *Received) error {
	err := s.Close()
	if err == nil {
		got.Released = true
		return nil
	}
	got.Retained = err.Error()
	r.retained = append(r.retained, got.Retained)
	other, order, err := r.cache.other()
	if err != nil {
		return err
	}
	r.others, r.cache, r.order = append(r.others, r.cache), other, order
	return nil
}

// leave ends a receiver that owns memory without proof: it lists it, and gives back
// nothing. The sender stops first: its last reports are to be confirmed.
func (r *receiver) leave(err error) error {
	select {
	case <-r.parted:
	case <-time.After(stopTime):
	}
	f := r.finished(err)
	f.Retained = r.retained
	r.ep.Halt()
	return r.parent.Send(reply{Finished: &f})
}

// other takes as many of the pool's free blocks, under a hold of their own.
func (c *cache) other() (*cache, []blocks.Block, error) {
	if c.name != firstHold {
		return nil, nil, errors.New("move: no blocks are left")
	}
	o := &cache{pool: c.pool, name: "kv again", table: append(c.table[:0:0], c.table...)}
	var err error
	if o.hold, err = c.pool.Blocks().Allocate(o.name, o.table); err != nil {
		return nil, nil, err
	}
	order := make([]blocks.Block, len(o.table))
	for i, b := range o.table {
		order[i] = blocks.Block(c.pool.Range(b))
	}
	return o, order, nil
}
