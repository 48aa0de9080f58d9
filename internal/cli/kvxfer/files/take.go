// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// taker is a folder that peers put files into.
type taker struct {
	root *os.Root
	mu   sync.Mutex
	jobs map[string]*takeJob // guarded by mu; by the file's name
}

// maxTaken bounds the files that come in at the same time; further ones wait.
const maxTaken = 64

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
	if len(t.jobs) >= maxTaken {
		return note{Wait: true}, nil
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
	s, err := l.open(l.ctx, peer, File{root, m.File, m.File}, m.Shape, m.Replace)
	done := message{Do: doDone, File: m.File, Shape: m.Shape}
	if err == nil {
		done.Resumed = s.Resumed
		err = l.complete(l.ctx, peer, m.File, m.Op, s)
	}
	if l.ctx.Err() != nil { // the peer asks again, in the next life
		return
	}
	if err != nil {
		done.Error = failed(err).Error
		tell(Event{Event: "failed", Peer: peer, File: m.File, Why: err.Error()})
	} else {
		tell(Event{Event: "received", Peer: peer, File: m.File, Bytes: m.Size})
	}
	if _, err := l.insist(l.ctx, peer, done); err == nil && done.Error == "" {
		if err := s.forget(); err != nil {
			tell(Event{Event: "failed", File: m.File, Why: err.Error()})
		}
	}
}

// complete gets what is missing and puts the file in its place, if it has the digest
// that it has at the peer.
func (l *life) complete(ctx context.Context, peer, name string, op Op, s *Sink) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	if err = l.pull(ctx, peer, name, op, s); err != nil {
		return err
	}
	switch err = l.compare(ctx, peer, name, s); {
	case errors.Is(err, ErrDigest): // whichever chunk it is: none of them is worth keeping
		return errors.Join(err, s.forget())
	case err != nil:
		return err
	}
	return s.finish()
}

// open returns where a file comes in. One that is in place and equal is done: who says
// the same command again, after it was ended in the middle, has that one already.
func (l *life) open(ctx context.Context, peer string, f File, shape Shape, replace bool) (*Sink, error) {
	s, err := inPlace(ctx, f.Root, f.Local, shape)
	if err == nil && s != nil {
		if err = l.compare(ctx, peer, f.Remote, s); err == nil {
			return s, nil
		}
	}
	if err != nil && !errors.Is(err, ErrDigest) {
		return nil, err
	}
	return openSink(ctx, f.Root, f.Local, shape, replace)
}

// compare asks for the digest that the file has at the peer, and says which it has here.
// What the peer answers lies in memory that the network of the data could reach; that it
// answers at all, only to the same digest, comes over the stream, which TLS protects.
func (l *life) compare(ctx context.Context, peer, name string, s *Sink) error {
	ours, known := s.digests.root()
	if !known {
		return fmt.Errorf("%s: %d chunks are missing", name, len(s.missing()))
	}
	n, err := l.until(ctx, peer, message{Do: doDigest, File: name, Shape: s.shape})
	if err == nil && n.Digest != ours.String() {
		return fmt.Errorf("%w: %s is %s here, and %s at %s", ErrDigest, name, ours, n.Digest, peer)
	}
	if err == nil {
		_, err = l.insist(ctx, peer, message{Do: doSame, File: name, Shape: s.shape, Digest: ours.String()})
	}
	return err
}
