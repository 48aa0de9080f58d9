// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/transfer"
)

// abuseTime bounds the one transfer under abuse.
const abuseTime = 20 * time.Second

// abused is a pair of agents of this process, and one transfer between them that is
// in flight for as long as nobody lets the second one work.
type abused struct {
	node   *node
	a, b   backend.Backend
	arenas [2]*memory.Arena
	regs   [2]backend.Registration
	names  [2]string
	count  int
}

// abuse makes every mistake of a kind that an adapter has to refuse, and counts the
// refusals.
func (n *node) abuse(ctx context.Context, kind Fault) (int, error) {
	x := &abused{node: n}
	if err := x.open(); err != nil {
		return 0, err
	}
	var err error
	if kind == OutOfBounds {
		x.endpoint(ctx)
		x.descriptors()
	} else {
		err = x.inFlight(kind == Repost)
	}
	return x.count, errors.Join(err, x.close())
}

func (x *abused) open() (err error) {
	n := x.node
	for i, to := range []*backend.Backend{&x.a, &x.b} {
		x.names[i] = fmt.Sprintf("%s-abuse-%d-%d", nameOf(n.job.Node), n.job.Life, n.number())
		if *to, err = n.open(x.names[i], 0); err != nil {
			return err
		}
		if x.arenas[i], err = memory.New(memory.Spec{Len: n.job.Bytes, Prefault: true}); err != nil {
			return err
		}
		m := backend.Memory{Addr: x.arenas[i].Addr(), Len: uint64(x.arenas[i].Len())}
		if x.regs[i], err = (*to).Register(m); err != nil {
			return err
		}
	}
	md, err := x.b.Metadata()
	if err != nil {
		return err
	}
	for name, bad := range map[string][]byte{"empty": nil, "cut short": md[:len(md)-1], "changed": damaged(md)} {
		x.refused("metadata "+name, x.a.Connect(x.names[1], bad), backend.ErrMetadata)
	}
	return x.a.Connect(x.names[1], md)
}

func damaged(md []byte) []byte {
	out := slices.Clone(md)
	out[len(out)/2] ^= 0x40
	return out
}

// refused counts a mistake that was refused for the right reason.
func (x *abused) refused(what string, err, want error) {
	if !errors.Is(err, want) {
		x.node.broken("%s: got %v, want %v", what, err, want)
		return
	}
	x.count++
}

func (x *abused) segment(i int, offset, length uint64) []backend.Segment {
	return []backend.Segment{{Addr: uint64(x.arenas[i].Addr()) + offset, Len: length}}
}

// descriptors prepares what must never be posted.
func (x *abused) descriptors() {
	size := uint64(x.arenas[0].Len())
	good := func() backend.Request {
		return backend.Request{Direction: backend.Write, Peer: x.names[1], Local: x.segment(0, 0, size), Remote: x.segment(1, 0, size)}
	}
	for name, spoil := range map[string]func(*backend.Request){
		"remote beyond the end":    func(r *backend.Request) { r.Remote = x.segment(1, 4096, size) },
		"remote before the begin":  func(r *backend.Request) { r.Remote[0].Addr -= 4096 },
		"local beyond the end":     func(r *backend.Request) { r.Local = x.segment(0, 8, size) },
		"lengths that differ":      func(r *backend.Request) { r.Local[0].Len = size / 2 },
		"numbers that differ":      func(r *backend.Request) { r.Local = append(r.Local, r.Local[0]) },
		"nothing at all":           func(r *backend.Request) { r.Local, r.Remote = nil, nil },
		"a peer that is not known": func(r *backend.Request) { r.Peer = "nobody" },
		"no direction":             func(r *backend.Request) { r.Direction = 0 },
	} {
		r := good()
		spoil(&r)
		op, err := x.a.Prepare(r)
		if err == nil {
			_ = op.Release()
		}
		x.refused(name, err, backend.ErrInvalid)
	}
}

// inFlight does what nobody may do to an operation that runs, and to one that is over.
func (x *abused) inFlight(repost bool) error {
	from, to := stampOf(x.node.job.Node, data, x.node.number()), stampOf(x.node.job.Node, blank, x.node.number())
	from.fill(x.arenas[0].Bytes())
	to.fill(x.arenas[1].Bytes())
	size := uint64(x.arenas[0].Len())
	op, err := x.a.Prepare(backend.Request{Direction: backend.Write, Peer: x.names[1], Local: x.segment(0, 0, size), Remote: x.segment(1, 0, size)})
	if err != nil {
		return err
	}
	seen := op.Post()
	switch { // over CMA the copy may end inside the post
	case seen.Status != backend.Submitted:
	case repost:
		x.refused("post again in flight", op.Post().Err, backend.ErrInvalid)
	default:
		x.refused("release in flight", op.Release(), backend.ErrInFlight)
		x.refused("deregister in flight", x.a.Deregister(x.regs[0]), backend.ErrInFlight)
		x.refused("forget the peer in flight", x.a.Disconnect(x.names[1]), backend.ErrInFlight)
		x.refused("close in flight", x.a.Close(), backend.ErrInFlight)
	}
	if err := x.await(op, seen); err != nil {
		return err
	}
	if err := errors.Join(from.untouched(x.arenas[0].Bytes()), from.untouched(x.arenas[1].Bytes())); err != nil {
		x.node.broken("under abuse: %v", err)
	}
	if repost {
		x.refused("post again", op.Post().Err, backend.ErrInvalid)
	}
	if err := op.Release(); err != nil {
		return err
	}
	if repost {
		x.refused("post after release", op.Post().Err, backend.ErrClosed)
		return nil
	}
	x.refused("release twice", op.Release(), backend.ErrClosed)
	return x.giveBackTwice()
}

// await lets both agents work until the operation is done.
func (x *abused) await(op backend.Operation, seen backend.Observation) error {
	out := []backend.Observation{seen}
	for end := time.Now().Add(abuseTime); out[0].Status != backend.Done; {
		if time.Now().After(end) {
			return fmt.Errorf("chaos: abused transfer: %v, %v", out[0].Status, out[0].Err)
		}
		if _, err := x.b.Progress(); err != nil {
			return err
		}
		x.a.Poll([]backend.Operation{op}, out)
	}
	return nil
}

// giveBackTwice gives the memory back, and again, and registers it anew.
func (x *abused) giveBackTwice() error {
	m := x.regs[0].Memory()
	if err := x.a.Deregister(x.regs[0]); err != nil {
		return err
	}
	x.refused("deregister twice", x.a.Deregister(x.regs[0]), backend.ErrClosed)
	var err error
	x.regs[0], err = x.a.Register(m)
	return err
}

// endpoint asks an endpoint for what it must refuse, at no cost of memory.
func (x *abused) endpoint(ctx context.Context) {
	n, size := x.node, uint64(x.node.job.Bytes)
	s := n.take()
	if s == nil {
		return
	}
	defer n.give(s)
	peer := nameOf((n.job.Node + 1) % 2)
	for name, spec := range map[string]transfer.ReceiveSpec{
		"no region":           {From: transfer.FromPeers(peer)},
		"nobody":              {Region: s.region},
		"blocks beyond":       {Region: s.region, From: transfer.FromPeers(peer), Blocks: []transfer.Block{{Offset: size - 8, Len: 16}}},
		"blocks that wrap":    {Region: s.region, From: transfer.FromPeers(peer), Blocks: []transfer.Block{{Offset: ^uint64(0) - 7, Len: 16}}},
		"blocks that overlap": {Region: s.region, From: transfer.FromPeers(peer), Blocks: []transfer.Block{{Len: 16}, {Offset: 8, Len: 16}}},
		"an empty block":      {Region: s.region, From: transfer.FromPeers(peer), Blocks: []transfer.Block{{}}},
	} {
		session, err := n.ep.Receive(ctx, spec)
		if err == nil {
			n.broken("a receive with %s was admitted as %v", name, session.Name())
			continue
		}
		x.count++
	}
}

func (x *abused) close() error {
	return errors.Join(x.a.Deregister(x.regs[0]), x.b.Deregister(x.regs[1]), x.a.Close(), x.b.Close(), x.arenas[0].Close(), x.arenas[1].Close())
}
