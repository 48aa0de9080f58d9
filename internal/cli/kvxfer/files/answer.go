// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// answer is called for each request of a peer, on a goroutine of its own.
func (l *life) answer(r *transfer.Request) {
	if !l.enter() { // the endpoint is being stopped, and answers by itself
		return
	}
	defer l.work.Done()
	if err := l.handle(r); err != nil {
		if refused := r.Refuse(err.Error()); refused != nil {
			l.node.config.Tell(Event{Event: "refused", Peer: r.Peer(), Why: errors.Join(err, refused).Error()})
		}
	}
}

// handle answers, or says why it does not.
func (l *life) handle(r *transfer.Request) error {
	m, err := parse(r.Label())
	switch {
	case err == nil && m.Do == doChunk:
		return l.sendChunk(r, m)
	case err == nil && m.Do == doLent:
		return l.takeLent(r, m)
	case r.Len() != noteSize || r.Direction() != backend.Write:
		return errors.Join(err, fmt.Errorf("files: %d bytes for a note of %d", r.Len(), noteSize))
	}
	var n note
	if err == nil {
		n, err = l.reply(r.Peer(), m)
	}
	if errors.Is(err, ErrDigest) { // no note can be taken for another
		return err
	}
	if err != nil {
		n = failed(err)
	}
	if err := l.sendNote(r, n); err != nil {
		return err
	}
	if m.Do == doDone && n.Error == "" { // only now: it may end this life, and the peer should have its answer
		l.node.sent.finished(m)
	}
	return nil
}

// reply does what a message asks for.
func (l *life) reply(peer string, m message) (n note, err error) {
	node := l.node
	switch {
	case m.Do == doGet && node.source != nil:
		f, shape, err := node.source.open(m.File, node.config.Chunk)
		if err != nil {
			return n, err
		}
		return note{Shape: shape}, f.Close()
	case m.Do == doDigest && node.source != nil:
		d, known, err := node.source.digest(m.File, m.Shape)
		return note{Digest: d.String(), Wait: !known}, err
	case m.Do == doSame && node.source != nil:
		d, known, err := node.source.digest(m.File, m.Shape)
		if err == nil && (!known || d.String() != m.Digest) {
			err = fmt.Errorf("%w: %s", ErrDigest, m.File)
		}
		return n, err
	case m.Do == doPut && node.taker != nil:
		return node.taker.put(l, peer, m)
	case m.Do == doLend && node.source != nil:
		return n, l.lend(peer, m)
	case m.Do == doDone && node.sent.about(m) != nil:
		return n, nil
	}
	return n, fmt.Errorf("%q is not done here", m.Do)
}

func (l *life) sendNote(r *transfer.Request, n note) error {
	one, err := l.free(r.Withdrawn(), l.notes)
	if err != nil {
		return err
	}
	if err := n.put(one.bytes(noteSize)); err != nil {
		one.back()
		return err
	}
	return l.send(r, one, []transfer.Block{{Len: noteSize}})
}

// sendChunk answers with the bytes of a chunk and their digest.
func (l *life) sendChunk(r *transfer.Request, m message) error {
	_, n := m.at(m.Index)
	if l.node.source == nil || n > l.node.config.Chunk || r.Len() != uint64(n)+uint64(len(Digest{})) {
		return fmt.Errorf("files: %d bytes for a chunk of %d", r.Len(), n)
	}
	one, err := l.fill(r.Withdrawn(), m)
	if err != nil {
		return err
	}
	return l.send(r, one, one.blocks(n))
}

// fill reads a chunk into a slot, with its digest.
func (l *life) fill(withdrawn <-chan struct{}, m message) (*slot, error) {
	one, err := l.free(withdrawn, l.chunks)
	if err != nil {
		return nil, err
	}
	_, n := m.at(m.Index)
	sum, err := l.node.source.read(m.File, m.Shape, m.Index, one.bytes(n))
	if err != nil {
		one.back()
		return nil, err
	}
	copy(one.sum(), sum[:])
	l.node.sent.told(m)
	return one, nil
}

// send answers a request with what is in a slot.
func (l *life) send(r *transfer.Request, one *slot, blocks []transfer.Block) error {
	s, err := r.Send(transfer.SendSpec{Region: one.region, Blocks: blocks})
	if err != nil {
		one.back()
		return err
	}
	_ = l.settle(l.ctx, s, one, nil)
	return nil // answered, whatever came of it
}

// free waits for a slot that may be filled anew, as long as anybody wants it.
func (l *life) free(withdrawn <-chan struct{}, of *slots) (*slot, error) {
	select {
	case one := <-of.free:
		if err := one.region.Reuse(); err != nil {
			if !errors.Is(err, ownership.ErrFatal) {
				one.back()
			}
			return nil, err
		}
		return one, nil
	case <-withdrawn:
		return nil, errors.New("files: withdrawn")
	case <-l.ctx.Done():
		return nil, l.ctx.Err()
	}
}
