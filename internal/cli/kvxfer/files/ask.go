// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
)

// RefusedError is a peer's word that it will not do what it was asked for.
type RefusedError struct{ Peer, Reason string }

// Error names the peer.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Peer, e.Reason) }

// again is how long to wait before something is tried once more.
const again = 50 * time.Millisecond

// ask sends a message and returns the answer. A *RefusedError is the peer's own
// word; any other error says that there was no answer.
func (l *life) ask(ctx context.Context, peer string, m message) (n note, err error) {
	label, err := m.label()
	if err != nil {
		return n, err
	}
	one, err := l.notes.take(ctx)
	if err != nil {
		return n, err
	}
	s, err := l.ep.Receive(ctx, transfer.ReceiveSpec{Region: one.region, From: transfer.FromPeers(peer), Label: label, Blocks: []transfer.Block{{Len: noteSize}}})
	if err != nil {
		one.back()
		return n, err
	}
	err = l.settle(ctx, s, one, func() (err error) {
		n, err = noteOf(one.bytes(noteSize))
		return err
	})
	if err == nil && n.Error != "" {
		err = &RefusedError{Peer: peer, Reason: n.Error}
	}
	return n, err
}

// insist asks until there is an answer, or ctx ends. A peer that is there and
// does not answer is not asked for ever.
func (l *life) insist(ctx context.Context, peer string, m message) (note, error) {
	for tries := 0; ; {
		n, err := l.ask(ctx, peer, m)
		var refused *RefusedError
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			return n, err
		}
		if !errors.Is(err, transfer.ErrNoPeer) {
			tries++
		}
		if tries == attempts {
			return n, fmt.Errorf("%s does not answer: %w", peer, err)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}

// until asks until there is an answer that is no request to wait.
func (l *life) until(ctx context.Context, peer string, m message) (note, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		n, err := l.insist(ctx, peer, m)
		if err != nil || !n.Wait {
			return n, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}
