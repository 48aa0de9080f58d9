// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
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

// hash reads the file in order, each chunk when it is there.
func (s *Sink) hash(ctx context.Context) (d Digest, err error) {
	f := s.part
	if f == nil { // it was in place before
		if f, err = s.root.Open(s.name); err != nil {
			return d, err
		}
		defer func() { _ = f.Close() }()
	}
	sum, buf := sha256.New(), make([]byte, 1<<20)
	for i := range s.shape.chunks() {
		if err := s.await(ctx, i); err != nil {
			return d, err
		}
		offset, n := s.shape.at(i)
		if _, err := io.CopyBuffer(sum, io.NewSectionReader(f, offset, n), buf); err != nil {
			return d, err
		}
	}
	return Digest(sum.Sum(nil)), nil
}

// await waits until a chunk is there.
func (s *Sink) await(ctx context.Context, i int64) error {
	for {
		s.mu.Lock()
		have := s.have[i]
		s.mu.Unlock()
		if have {
			return ctx.Err()
		}
		select {
		case <-s.grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// maxHashings bounds the files whose digests a source computes or remembers.
const maxHashings = 256

var errBusy = errors.New("too many files are being read")

// hash returns the digest of a file, which is computed once for each version, as many
// at a time as there are processors.
func (s *Source) hash(name string, shape Shape) (*hashing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := hashKey{name, shape}
	if h := s.hashings[key]; h != nil {
		return h, nil
	}
	for old, h := range s.hashings {
		if len(s.hashings) < maxHashings {
			break
		}
		select {
		case <-h.done:
			delete(s.hashings, old)
		default:
		}
	}
	if len(s.hashings) >= maxHashings {
		return nil, errBusy
	}
	if s.hashings == nil {
		s.hashings, s.turns = map[hashKey]*hashing{}, make(chan struct{}, runtime.GOMAXPROCS(0))
	}
	h := startHashing(func() (Digest, error) { return s.sum(name, shape) })
	s.hashings[key] = h
	return h, nil
}

type hashKey struct {
	name string
	Shape
}

func (s *Source) sum(name string, shape Shape) (d Digest, err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-s.ctx.Done():
		return d, context.Cause(s.ctx)
	}
	f, now, err := s.open(name, shape.Chunk)
	if err != nil {
		return d, err
	}
	defer func() { _ = f.Close() }()
	sum, buf := sha256.New(), make([]byte, 1<<20)
	for now == shape {
		if s.ctx.Err() != nil {
			return d, context.Cause(s.ctx)
		}
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		if err == io.EOF {
			return Digest(sum.Sum(nil)), s.same(name, shape)
		}
		if err != nil {
			return d, err
		}
	}
	return d, fmt.Errorf("%w: %s", ErrChanged, name)
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
		n, err := l.insist(ctx, peer, message{Do: doDigest, File: name, Shape: shape})
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
