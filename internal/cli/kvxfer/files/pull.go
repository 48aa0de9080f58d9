// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
)

// attempts is how often a chunk is asked for before the file is given up. A
// chunk that was in flight when a connection or a life ended is asked for anew.
const attempts = 5

// pull gets the chunks of a file that are missing, several at once.
func (l *life) pull(ctx context.Context, peer, name string, op Op, s *Sink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return spread(ctx, l.node.config.Parallel, s.missing(), func(i int64) {
		if err := l.chunk(ctx, peer, name, op, s, i); err != nil {
			cancel(err)
		}
	})
}

// chunk gets one chunk, in as many attempts as are worth it.
func (l *life) chunk(ctx context.Context, peer, name string, op Op, s *Sink, i int64) error {
	get := l.written
	if op == Read {
		get = l.fetched
	}
	for n := 1; ; n++ {
		err := get(ctx, peer, name, s, i)
		var refused *RefusedError
		var file *fs.PathError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refused), errors.As(err, &file), n >= attempts && !errors.Is(err, transfer.ErrNoPeer):
			return fmt.Errorf("%s: chunk %d: %w", name, i, err)
		}
		select { // a peer that is away has Patience; then this life ends
		case <-time.After(time.Duration(n) * again):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// written lets the peer write the chunk into a slot.
func (l *life) written(ctx context.Context, peer, name string, s *Sink, i int64) error {
	label, err := message{Do: doChunk, File: name, Shape: s.shape, Index: i, Have: s.done.Load()}.label()
	if err != nil {
		return err
	}
	one, err := l.chunks.take(ctx)
	if err != nil {
		return err
	}
	_, n := s.shape.at(i)
	session, err := l.ep.Receive(ctx, transfer.ReceiveSpec{Region: one.region, Blocks: one.blocks(n), From: transfer.FromPeers(peer), Label: label})
	if err != nil {
		one.back()
		return err
	}
	err = l.settle(ctx, session, one, func() error { return s.write(i, one.bytes(n), Digest(one.sum())) })
	var outcome *transfer.OutcomeError
	if errors.As(err, &outcome) && ctx.Err() == nil {
		if why := l.why(ctx, peer, name, s); why != nil {
			return why
		}
	}
	return err
}

// why asks for the reason of a chunk that did not come: the file may not be
// there any more, or be another one.
func (l *life) why(ctx context.Context, peer, name string, s *Sink) error {
	now, err := l.ask(ctx, peer, message{Do: doGet, File: name})
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return refused
	case err == nil && (now.Size != s.shape.Size || now.Version != s.shape.Version):
		return &RefusedError{Peer: peer, Reason: ErrChanged.Error() + ": " + name}
	}
	return nil
}
