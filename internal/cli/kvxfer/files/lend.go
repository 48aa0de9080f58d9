// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/transfer"
)

// lentKey names a chunk that a peer was asked to lend.
type lentKey struct {
	peer, file, version string
	index               int64
}

// lend puts a chunk into a slot and offers it to the peer that asked. The peer
// has the answer to its question, and then the offer.
func (l *life) lend(peer string, m message) error {
	_, n := m.at(m.Index)
	if n > l.node.config.Chunk {
		return fmt.Errorf("chunks of %d bytes: at most %d here", n, l.node.config.Chunk)
	}
	one, err := l.fill(nil, m)
	if err != nil {
		return err
	}
	m.Do = doLent
	label, err := m.label()
	if err != nil {
		one.back()
		return err
	}
	l.start(func() {
		s, err := l.ep.Offer(l.ctx, transfer.OfferSpec{Region: one.region, Blocks: one.blocks(n), To: transfer.ToPeers(peer), Label: label})
		if err != nil { // nobody has heard of it
			one.back()
			return
		}
		_ = l.settle(l.ctx, s, one, nil)
	})
	return nil
}

// fetched reads the chunk out of the peer's memory into a slot.
func (l *life) fetched(ctx context.Context, peer, name string, s *Sink, i int64) error {
	one, err := l.chunks.take(ctx)
	if err != nil {
		return err
	}
	r, err := l.borrow(ctx, peer, message{Do: doLend, File: name, Shape: s.shape, Index: i, Have: s.done.Load()})
	if err != nil {
		one.back()
		return err
	}
	_, n := s.shape.at(i)
	session, err := r.Fetch(transfer.FetchSpec{Region: one.region, Blocks: one.blocks(n)})
	if err != nil {
		one.back()
		return errors.Join(err, r.Refuse("not fetched"))
	}
	return l.settle(ctx, session, one, func() error { return s.write(i, one.bytes(n), Digest(one.sum())) })
}

// borrow asks a peer to lend a chunk and returns its offer.
func (l *life) borrow(ctx context.Context, peer string, m message) (*transfer.Request, error) {
	key, offers := lentKey{peer, m.File, m.Version, m.Index}, make(chan *transfer.Request, 1)
	l.mu.Lock()
	l.lent[key] = offers
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.lent, key)
		l.mu.Unlock()
		select {
		case late := <-offers: // between the two
			_ = late.Refuse("too late")
		default:
		}
	}()
	if _, err := l.ask(ctx, peer, m); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.node.config.offerTime(), errors.New("files: what was to be lent was not offered"))
	defer cancel()
	select {
	case r := <-offers:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// takeLent gives an offer to who waits for it.
func (l *life) takeLent(r *transfer.Request, m message) error {
	_, n := m.at(m.Index)
	if r.Direction() != backend.Read || r.Len() != uint64(n)+uint64(len(Digest{})) {
		return fmt.Errorf("files: %v of %d bytes for a chunk of %d that is lent", r.Direction(), r.Len(), n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	offers := l.lent[lentKey{r.Peer(), m.File, m.Version, m.Index}]
	if offers == nil {
		return errors.New("files: nobody asked for it, or no longer")
	}
	select {
	case offers <- r:
		return nil
	default:
		return errors.New("files: it was offered before")
	}
}
