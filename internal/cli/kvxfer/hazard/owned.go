// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// owned is the same transfer under the contract: nothing but the public API of
// package transfer.
func (h *Hazard) owned(ctx context.Context, seed uint64, tell func(Step)) (Half, error) {
	t := &ownedTransfer{hazard: h, rec: newRecorder(tell), seed: seed,
		requests: make(chan *transfer.Request, 1), moved: make(chan *ownership.ClaimMoved, 16), contained: make(chan ownership.Containment, 1)}
	defer t.close()
	if err := t.start(ctx); err != nil {
		return Half{}, err
	}
	if err := t.run(ctx); err != nil {
		return Half{}, err
	}
	return t.rec.half, t.stop(ctx)
}

// ownedTransfer walks through the phases.
type ownedTransfer struct {
	hazard    *Hazard
	rec       *recorder
	seed      uint64
	end       *ownedEnd
	listener  *rpc.Listener
	child     *proc.Child
	requests  chan *transfer.Request
	moved     chan *ownership.ClaimMoved // of the counted session
	contained chan ownership.Containment
}

func (t *ownedTransfer) start(ctx context.Context) (err error) {
	h := t.hazard
	job := h.job(halfOwned, t.seed)
	t.end, err = newOwnedEnd(h.Op.us(), &job, func(c ownership.Containment) error { t.contained <- c; return nil }, t.observe)
	if err != nil {
		return err
	}
	t.end.ep.OnRequest(func(r *transfer.Request) { t.requests <- r })
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	if t.listener, err = rpc.Listen("unix-abstract:kvxfer-" + hex.EncodeToString(id[:])); err != nil {
		return err
	}
	job.Control = t.listener.Addr()
	attached := make(chan error, 1)
	go func() {
		stream, err := t.listener.Accept(ctx)
		if err == nil {
			_, err = t.end.ep.Attach(ctx, stream)
		}
		attached <- err
	}()
	if t.child, _, err = h.startPeer(ctx, job); err != nil {
		return err
	}
	return <-attached
}

// observe keeps the claim's moves, which the phases wait for.
func (t *ownedTransfer) observe(ev transfer.Event) {
	if m, ok := ev.Effect.(*ownership.ClaimMoved); ok {
		select {
		case t.moved <- m:
		default: // nobody looks any more
		}
	}
}

func (t *ownedTransfer) run(ctx context.Context) error {
	if op := t.hazard.Op; op == Write {
		op.fillSource(t.end.data.Bytes(), t.seed)
	}
	if err := t.uncounted(ctx); err != nil {
		return err
	}
	t.rec.step(Primed, "done; the connection is up")
	session, err := t.post(ctx)
	if err != nil {
		return err
	}
	if err := t.cancel(session); err != nil {
		return err
	}
	if err := t.doubt(ctx, session); err != nil {
		return err
	}
	if err := t.child.Continue(ctx); err != nil {
		return err
	}
	t.rec.step(Continued, "SIGCONT")
	if err := t.prove(ctx, session); err != nil {
		return err
	}
	return t.count(ctx, session)
}

// uncounted runs a small transfer to its end.
func (t *ownedTransfer) uncounted(ctx context.Context) error {
	session, err := t.send(ctx, regionUncounted, nil)
	if err != nil {
		return err
	}
	if err := session.Wait(ctx); err != nil {
		return err
	}
	if err := session.Drain(ctx); err != nil {
		return err
	}
	return t.reply(ctx, "SUCCEEDED")
}

// send orders the peer to ask for a region, or to offer it, and answers. ready runs between the
// two.
func (t *ownedTransfer) send(ctx context.Context, region string, ready func() error) (*transfer.Session, error) {
	if err := t.child.Send(receive{region}); err != nil {
		return nil, err
	}
	select {
	case r := <-t.requests:
		if ready != nil {
			if err := ready(); err != nil {
				return nil, err
			}
		}
		t.end.meter.Forget()
		if t.hazard.Op == Read {
			return r.Fetch(transfer.FetchSpec{Region: t.end.regions[region], Blocks: t.end.blocks(region)})
		}
		return r.Send(transfer.SendSpec{Region: t.end.regions[region], Blocks: t.end.blocks(region)})
	case <-t.child.Done():
		return nil, fmt.Errorf("second process %v", t.child.State())
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// forget drops the moves of an earlier session.
func (t *ownedTransfer) forget() {
	for {
		select {
		case <-t.moved:
		default:
			return
		}
	}
}

// stop shuts the sender down; the peer is only ended: it holds nothing.
func (t *ownedTransfer) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := t.end.ep.Stop(ctx); err != nil {
		return err
	}
	ep := t.end
	t.end = nil
	return errors.Join(ep.data.Close(), ep.spare.Close())
}

func (t *ownedTransfer) close() {
	if t.child != nil {
		_ = t.child.Close()
	}
	if t.listener != nil {
		_ = t.listener.Close()
	}
	if t.end != nil && t.end.ep != nil {
		t.end.ep.Halt()
	}
}
