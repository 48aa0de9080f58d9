// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// hashing is the digest of a file while it is computed, beside the transfer.
type hashing struct {
	done   chan struct{} // closed at the end
	digest Digest        // once done is closed
	err    error         // likewise
}

func startHashing(f func() (Digest, error)) *hashing {
	h := &hashing{done: make(chan struct{})}
	go func() {
		defer close(h.done)
		h.digest, h.err = f()
	}()
	return h
}

// wait returns the digest once it is there.
func (h *hashing) wait(ctx context.Context) (Digest, error) {
	select {
	case <-h.done:
		return h.digest, h.err
	case <-ctx.Done():
		return Digest{}, context.Cause(ctx)
	}
}

// hash is the digest of the file, as its chunks come in.
func (s *Sink) hash(ctx context.Context) (d Digest, err error) {
	f := s.part
	if f == nil { // it was in place before
		if f, err = s.root.Open(s.name); err != nil {
			return d, err
		}
		defer func() { _ = f.Close() }()
	}
	return s.ordered.run(ctx, f, s.has)
}

func (s *Sink) has(i int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have[i]
}

// maxHashings bounds the files whose digests a source computes or remembers.
const maxHashings = 256

// lent is a file of which chunks are read, and its digest.
type lent struct {
	*hashing
	*ordered
	cancel context.CancelFunc

	mu     sync.Mutex
	passed map[int64]bool // guarded by mu; were in memory before their turn
	whole  bool           // guarded by mu; no more chunks are to be waited for
}

// ready reports whether a chunk is to be read for the digest alone.
func (l *lent) ready(i int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed[i] {
		delete(l.passed, i)
		return true
	}
	return l.whole
}

// pass shows a chunk that is in memory.
func (l *lent) pass(i int64, data []byte) {
	if !l.ordered.pass(i, data) {
		l.mu.Lock()
		l.passed[i] = true
		l.mu.Unlock()
	}
	l.wake()
}

// finish says that the peer has all chunks: what was not among those that it asked for
// is read.
func (l *lent) finish() {
	l.mu.Lock()
	l.whole = true
	l.mu.Unlock()
	l.wake()
}

// hash returns the digest of a file, which is computed once for each version.
func (s *Source) hash(name string, shape Shape) *lent {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := hashKey{name, shape}
	if l := s.lent[key]; l != nil {
		return l
	}
	for old, l := range s.lent { // any: who still wants it asks again, and the file is read
		if len(s.lent) < maxHashings {
			break
		}
		l.cancel()
		delete(s.lent, old)
	}
	if s.lent == nil {
		s.lent = map[hashKey]*lent{}
	}
	l := &lent{ordered: newOrdered(shape), passed: map[int64]bool{}}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(s.ctx)
	l.hashing = startHashing(func() (Digest, error) {
		defer l.cancel()
		return s.sum(ctx, name, l)
	})
	s.lent[key] = l
	return l
}

// seen shows a chunk that is in memory to who computes the digest, if anybody does.
func (s *Source) seen(name string, shape Shape, i int64, data []byte) {
	s.mu.Lock()
	l := s.lent[hashKey{name, shape}]
	s.mu.Unlock()
	if l != nil {
		l.pass(i, data)
	}
}

type hashKey struct {
	name string
	Shape
}

func (s *Source) sum(ctx context.Context, name string, l *lent) (d Digest, err error) {
	f, now, err := s.open(name, l.shape.Chunk)
	if err != nil {
		return d, err
	}
	defer func() { _ = f.Close() }()
	if now != l.shape {
		return d, fmt.Errorf("%w: %s", ErrChanged, name)
	}
	if d, err = l.run(ctx, f, l.ready); err == nil {
		err = s.same(name, l.shape)
	}
	return d, err
}

// same refuses a file that has changed.
func (s *Source) same(name string, shape Shape) error {
	f, now, err := s.open(name, shape.Chunk)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil || now == shape {
		return err
	}
	return fmt.Errorf("%w: %s", ErrChanged, name)
}

// theirDigest asks for the digest that the file has at the peer. It is being computed
// there, and a question is not left open for so long.
func (l *life) theirDigest(ctx context.Context, peer, name string, shape Shape) (string, error) {
	for pause := again; ; pause = min(2*pause, time.Second) {
		n, err := l.insist(ctx, peer, message{Do: doDigest, File: name, Shape: shape, Have: shape.Size})
		if err != nil || n.Digest != "" {
			return n.Digest, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
