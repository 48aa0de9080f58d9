// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"sync"
	"sync/atomic"
)

// sentFiles are what a node that puts files knows of them.
type sentFiles struct {
	mu   sync.Mutex
	list map[string]*sentFile // guarded by mu; by the name at the peer
}

// sentFile is one of them.
type sentFile struct {
	shape Shape
	have  atomic.Int64 // bytes that the peer has
	done  chan message // the peer's word that it is in place, or never will be
}

func (s *sentFiles) begin(name string, shape Shape) *sentFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[string]*sentFile{}
	}
	s.list[name] = &sentFile{shape: shape, done: make(chan message, 1)}
	return s.list[name]
}

// of returns the file of a name; nil where none is put.
func (s *sentFiles) of(name string) *sentFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[name]
}

// about returns the file that a message is about; nil where that is not put.
func (s *sentFiles) about(m message) *sentFile {
	if f := s.of(m.File); f != nil && f.shape == m.Shape {
		return f
	}
	return nil
}

// told takes in how many bytes the peer has.
func (s *sentFiles) told(m message) {
	if f := s.about(m); f != nil {
		for old := f.have.Load(); old < m.Have && !f.have.CompareAndSwap(old, m.Have); old = f.have.Load() {
		}
	}
}

// finished takes the peer's word that a file is in place, or never will be.
func (s *sentFiles) finished(m message) {
	f := s.about(m)
	if f == nil {
		return
	}
	if m.Error == "" {
		f.have.Store(m.Size)
	}
	select {
	case f.done <- m:
	default: // again: it was told already
	}
}

// wait waits for that word.
func (f *sentFile) wait(ctx context.Context) (message, error) {
	select {
	case m := <-f.done:
		return m, nil
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
}
