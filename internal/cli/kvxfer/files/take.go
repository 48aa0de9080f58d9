// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// taker is a folder that peers put files into.
type taker struct {
	root *os.Root
	mu   sync.Mutex
	jobs map[string]*takeJob // guarded by mu; by the file's name
}

// takeJob is one file that comes in.
type takeJob struct {
	peer  string
	shape Shape
	life  *life
}

// put begins to take a file in, unless another peer's is coming in under its
// name. A peer that asks again, as after a lost stream, has its answer again.
func (t *taker) put(l *life, peer string, m message) (note, error) {
	if m.Op != Write && m.Op != Read {
		return note{}, fmt.Errorf("unknown op %q", m.Op)
	}
	if m.Chunk > l.node.config.Chunk {
		return note{}, fmt.Errorf("chunks of %d bytes: at most %d here", m.Chunk, l.node.config.Chunk)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if job := t.jobs[m.File]; job != nil {
		if job.life == l && job.peer == peer && job.shape == m.Shape {
			return note{Shape: m.Shape}, nil
		}
		return note{}, fmt.Errorf("%s is just being written", m.File)
	}
	job := &takeJob{peer: peer, shape: m.Shape, life: l}
	t.jobs[m.File] = job
	l.start(func() {
		defer func() { t.mu.Lock(); delete(t.jobs, m.File); t.mu.Unlock() }()
		l.takeIn(t.root, peer, m)
	})
	return note{Shape: m.Shape}, nil
}

// takeIn gets the file and tells the peer what came of it.
func (l *life) takeIn(root *os.Root, peer string, m message) {
	tell := l.node.config.Tell
	tell(Event{Event: "receiving", Peer: peer, File: m.File, Bytes: m.Size})
	s, err := openSink(l.ctx, root, m.File, m.Shape, m.Replace)
	done := message{Do: doDone, File: m.File, Shape: m.Shape}
	if err == nil {
		done.Resumed = s.Resumed
		var d Digest
		d, err = l.complete(l.ctx, peer, m.File, m.Op, s)
		done.Digest = d.String()
	}
	if l.ctx.Err() != nil { // the peer asks again, in the next life
		return
	}
	if err != nil {
		done.Error = failed(err).Error
		tell(Event{Event: "failed", Peer: peer, File: m.File, Why: err.Error()})
	} else {
		tell(Event{Event: "received", Peer: peer, File: m.File, Bytes: m.Size, Digest: done.Digest})
	}
	if _, err := l.insist(l.ctx, peer, done); err == nil && done.Error == "" {
		if err := s.forget(); err != nil {
			tell(Event{Event: "failed", File: m.File, Why: err.Error()})
		}
	}
}

// complete gets what is missing and puts the file in its place, if it has the digest
// that it has at the peer.
func (l *life) complete(ctx context.Context, peer, name string, op Op, s *Sink) (d Digest, err error) {
	hashed, stop := context.WithCancel(ctx)
	h := startHashing(func() (Digest, error) { return s.hash(hashed) })
	defer func() {
		stop()
		<-h.done // it reads the file
		err = errors.Join(err, s.Close())
	}()
	if _, err = l.insist(ctx, peer, message{Do: doDigest, File: name, Shape: s.shape}); err != nil { // that it begins
		return d, err
	}
	if err = l.pull(ctx, peer, name, op, s); err != nil {
		return d, err
	}
	if d, err = h.wait(ctx); err != nil {
		return d, err
	}
	theirs, err := l.theirDigest(ctx, peer, name, s.shape)
	if err == nil && theirs != d.String() {
		err = errors.Join(fmt.Errorf("%w: %s is %s here, and %s at %s", ErrChecksum, name, d, theirs, peer), s.forget())
	}
	if err == nil {
		err = s.finish()
	}
	return d, err
}

// sentChunks are what a node that puts a file knows of it.
type sentChunks struct {
	mu    sync.Mutex
	shape Shape
	have  atomic.Int64 // bytes that the peer has
	done  chan message // nil unless a file is put
}

func (s *sentChunks) begin(shape Shape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shape, s.done = shape, make(chan message, 1)
}

// told takes in how many bytes the peer has.
func (s *sentChunks) told(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Shape == s.shape {
		s.have.Store(max(s.have.Load(), m.Have))
	}
}

// is reports whether that is the file that is put.
func (s *sentChunks) is(shape Shape) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done != nil && s.shape == shape
}

// finished takes the peer's word that the file is in place, or never will be.
func (s *sentChunks) finished(m message) {
	if m.Error == "" {
		s.have.Store(m.Size)
	}
	select {
	case s.done <- m:
	default: // again: it was told already
	}
}

// wait waits for the peer's word.
func (s *sentChunks) wait(ctx context.Context) (message, error) {
	select {
	case m := <-s.done:
		return m, nil
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
}
