// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/transfer"
)

// pieces is how many blocks a transfer has.
const pieces = 8

// use is one region in one transfer.
type use struct {
	*slot
	was, becomes stamp // equal for memory that is only read
}

// ask asks a peer for data, or offers it, and returns the outcome. The region comes
// back by itself when there is proof.
func (n *node) ask(ctx context.Context, o askOrder) (string, error) {
	s := n.take()
	if s == nil {
		return "busy", nil
	}
	number := n.number()
	u := n.passive(s, o, number)
	session, err := n.publish(ctx, o, u, strconv.FormatUint(uint64(number), 10))
	if err != nil {
		n.give(s) // after an error nothing is owned
		return "", err
	}
	if o.Cancel > 0 {
		time.AfterFunc(o.Cancel, func() { _, _ = session.Cancel() })
	}
	err = session.Wait(ctx)
	if ctx.Err() != nil {
		return "", err
	}
	go n.conclude(ctx, session, u)
	return session.Answer().Outcome.String(), nil
}

// passive fills the region of whoever publishes its address. The data that belongs to
// a request has the number of whoever asked.
func (n *node) passive(s *slot, o askOrder, number uint32) use {
	if o.Read {
		d := stampOf(n.job.Node, data, number)
		d.fill(s.arena.Bytes())
		return use{s, d, d}
	}
	b := stampOf(n.job.Node, blank, number)
	b.fill(s.arena.Bytes())
	return use{s, b, stampOf(n.job.Node, data, number)}
}

func (n *node) publish(ctx context.Context, o askOrder, u use, label string) (*transfer.Session, error) {
	if o.Read {
		return n.ep.Offer(ctx, transfer.OfferSpec{Region: u.region, Blocks: n.blocks(), To: transfer.ToPeers(o.Peer), Label: label})
	}
	return n.ep.Receive(ctx, transfer.ReceiveSpec{Region: u.region, Blocks: n.blocks(), From: transfer.FromPeers(o.Peer), Label: label})
}

func (n *node) blocks() []transfer.Block {
	each := uint64(n.job.Bytes / pieces)
	out := make([]transfer.Block, pieces)
	for i := range out {
		out[i] = transfer.Block{Offset: uint64(i) * each, Len: each}
	}
	return out
}

// requested answers a peer's request at once, or keeps it.
func (n *node) requested(r *transfer.Request) {
	n.mu.Lock()
	hold := n.hold
	if hold {
		n.kept = append(n.kept, r)
	}
	n.mu.Unlock()
	if !hold {
		n.answer(r)
	}
}

// keep begins or ends keeping requests.
func (n *node) keep(hold bool) {
	n.mu.Lock()
	kept := n.kept
	n.hold, n.kept = hold, nil
	n.mu.Unlock()
	for _, r := range kept {
		go n.answer(r) // which ends when there is proof
	}
}

// answer posts the operation that a peer asked for.
func (n *node) answer(r *transfer.Request) {
	s := n.take()
	if s == nil {
		_ = r.Refuse("no region is free")
		return
	}
	number, err := strconv.ParseUint(r.Label(), 10, 32)
	var asker int
	if err == nil {
		_, err = fmt.Sscanf(r.Peer(), "node-%d", &asker)
	}
	if err != nil {
		n.broken("a request with label %q of %s", r.Label(), r.Peer())
	}
	d := stampOf(asker, data, uint32(number))
	var session *transfer.Session
	u := use{s, d, d}
	if r.Direction() == backend.Read {
		u.was = stampOf(n.job.Node, blank, n.number())
		u.was.fill(s.arena.Bytes())
		session, err = r.Fetch(transfer.FetchSpec{Region: s.region, Blocks: n.blocks()})
	} else {
		d.fill(s.arena.Bytes())
		session, err = r.Send(transfer.SendSpec{Region: s.region, Blocks: n.follow(r, n.blocks())})
	}
	if err != nil {
		n.give(s)
		if errors.Is(err, transfer.ErrConfig) { // it asks for something else than there is
			_ = r.Refuse(err.Error())
		}
		return
	}
	_ = session.Wait(context.Background())
	n.conclude(context.Background(), session, u)
}

// conclude waits for proof, checks the bytes while nobody else has the memory, and
// takes it back.
func (n *node) conclude(ctx context.Context, session *transfer.Session, u use) {
	answer := session.Answer()
	n.mu.Lock()
	n.outcomes[answer.Outcome.String()]++
	n.mu.Unlock()
	if n.job.Careless {
		n.relabel(u.slot) // another request's bytes, too early
		u.was, u.becomes = u.stamp, u.stamp
	}
	if err := session.Drain(ctx); err != nil {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, transfer.ErrHalted) {
			n.broken("region %d: %v", u.index, err)
		}
		return
	}
	arrived, err := mixture(u.arena.Bytes(), u.was, u.becomes)
	n.count(len(u.arena.Bytes()))
	switch {
	case err != nil:
		n.broken("region %d, %v of session %v: %v", u.index, answer.Outcome, session.Name(), err)
	case answer.Outcome == outcome.Succeeded && arrived != len(u.arena.Bytes()):
		n.broken("region %d: session %v SUCCEEDED with %d of %d bytes", u.index, session.Name(), arrived, len(u.arena.Bytes()))
	}
	n.give(u.slot)
}
