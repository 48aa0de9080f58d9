// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// liar is a stream that, while its node lies, changes the lengths which requests state
// on their way, in both directions: the two sides of a transfer then know of different
// ones. Some do not add up to what the answer has; others do, and lie beyond the end of
// the memory, so that only NIXL can refuse them.
type liar struct {
	transfer.Stream
	node *node
}

// liar puts one around a stream, where the fault wants that.
func (n *node) liar(s transfer.Stream) transfer.Stream {
	if !n.job.Lengths {
		return s
	}
	return &liar{s, n}
}

// Send changes what this side asks for.
func (l *liar) Send(ctx context.Context, m wire.Message) error {
	return l.Stream.Send(ctx, l.node.changed(m))
}

// Recv changes what the peer asks for.
func (l *liar) Recv(ctx context.Context) (wire.Message, error) {
	m, err := l.Stream.Recv(ctx)
	if err != nil {
		return nil, err
	}
	return l.node.changed(m), nil
}

// past is by how much something lies beyond the end: a page.
const past = 4096

// changed returns the message, or one that states other lengths.
func (n *node) changed(m wire.Message) wire.Message {
	r, ok := m.(wire.RequestData)
	if !ok || !n.lies.Load() {
		return m
	}
	r.Segments = slices.Clone(r.Segments)
	end := &r.Segments[len(r.Segments)-1]
	switch n.number() % 4 {
	case 0:
		end.Len /= 2
	case 1:
		end.Len += past
	case 2:
		end.Addr += past
	case 3:
		r.Segments = r.Segments[:len(r.Segments)-1]
	}
	return r
}

// follow makes an answer as long as what is asked for, where that is more than there is:
// the beginning comes once more. So it gets as far as NIXL.
func (n *node) follow(r *transfer.Request, blocks []transfer.Block) []transfer.Block {
	if more := r.Len() - uint64(n.job.Bytes); n.job.Lengths && r.Len() > uint64(n.job.Bytes) && r.Direction() == backend.Write {
		blocks = append(blocks, transfer.Block{Len: more})
	}
	return blocks
}

// lengths lets a node that others dial state other lengths, in what it asks and in what
// it is asked. None of these transfers can succeed, and everybody gets everything back.
func (a *attack) lengths(ctx context.Context) error {
	v := a.spec.Nodes - 1
	for range a.config.size(3) {
		if err := a.lie(ctx, v, true); err != nil {
			return err
		}
		for range 3 {
			for i := range v {
				for _, read := range []bool{false, true} {
					a.wrong(ctx, i, v, read)
					a.wrong(ctx, v, i, read)
				}
			}
		}
		if err := a.lie(ctx, v, false); err != nil {
			return err
		}
		a.traffic(4, 0)
		a.collect(ctx, never)
	}
	return nil
}

func (a *attack) lie(ctx context.Context, v int, on bool) error {
	_, err := a.nodes[v].do(ctx, order{Lie: &on})
	return err
}

// wrong asks for a transfer whose sides know different lengths.
func (a *attack) wrong(ctx context.Context, from, to int, read bool) {
	r, err := a.nodes[from].do(ctx, order{Ask: &askOrder{Peer: nameOf(to), Read: read}})
	switch {
	case err != nil:
	case r.Outcome == "SUCCEEDED":
		a.result.find("node %d of node %d, read %v: it SUCCEEDED although the two know different lengths", from, to, read)
	case r.Outcome != "busy" && r.Error == "":
		a.result.Refused++
	}
	a.result.Transfers++
	a.result.Outcomes[r.Outcome]++
}
