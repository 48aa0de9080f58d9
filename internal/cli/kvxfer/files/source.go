// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// Source is what files are read from, by the names that peers use.
type Source struct {
	root *os.Root        // of any file of the folder, by its own name; nil: of names only
	name map[string]File // by the peer's name

	ctx  context.Context // of what is hashed
	mu   sync.Mutex
	lent map[lentFile]*lent // guarded by mu
}

// lentFile is one version of a file, cut in one way.
type lentFile struct {
	name string
	Shape
}

// lent is what is known of a file whose chunks are read.
type lent struct {
	*digests
	reading bool  // guarded by the Source's mu; the chunks that nobody asked for are hashed
	failed  error // guarded by the Source's mu; of that, until it is told
}

// maxLent bounds the files whose digests a source remembers.
const maxLent = 64

// open returns a file and its shape in chunks of a size.
func (s *Source) open(name string, chunk int64) (*os.File, Shape, error) {
	if err := CheckName(name); err != nil {
		return nil, Shape{}, err
	}
	file := File{Root: s.root, Local: name}
	if s.root == nil {
		var ok bool
		if file, ok = s.name[name]; !ok {
			return nil, Shape{}, fmt.Errorf("%s: no such file is offered", name)
		}
	}
	// To open what is no file, a pipe for one, could block.
	if info, err := file.Root.Stat(file.Local); err == nil && !info.Mode().IsRegular() {
		return nil, Shape{}, fmt.Errorf("%s: is no regular file", name)
	}
	f, err := file.Root.Open(file.Local)
	if err != nil {
		return nil, Shape{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: is no regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, Shape{}, err
	}
	return f, Shape{Size: info.Size(), Chunk: chunk, Version: fmt.Sprintf("%x-%x", info.Size(), info.ModTime().UnixNano())}, nil
}

// opened opens a file unless it has changed.
func (s *Source) opened(name string, shape Shape) (*os.File, error) {
	f, now, err := s.open(name, shape.Chunk)
	if err == nil && now != shape {
		_ = f.Close()
		return nil, fmt.Errorf("%w: %s", ErrChanged, name)
	}
	return f, err
}

// read fills into with a chunk, unless the file has changed, and returns its digest.
func (s *Source) read(name string, shape Shape, i int64, into []byte) (Digest, error) {
	f, err := s.opened(name, shape)
	if err != nil {
		return Digest{}, err
	}
	defer func() { _ = f.Close() }()
	offset, _ := shape.at(i)
	d, err := readHashed(f, offset, into)
	if err == nil {
		s.known(name, shape).set(i, d)
	}
	return d, err
}

// known returns what is known of one version of a file. What is forgotten for want of
// room is computed again.
func (s *Source) known(name string, shape Shape) *lent {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := lentFile{name, shape}
	if l := s.lent[key]; l != nil {
		return l
	}
	for old := range s.lent {
		if len(s.lent) < maxLent {
			break
		}
		delete(s.lent, old)
	}
	if s.lent == nil {
		s.lent = map[lentFile]*lent{}
	}
	l := &lent{digests: newDigests(shape)}
	s.lent[key] = l
	return l
}

// digest returns the digest of a file, if it is known by now. Chunks that nobody has
// asked for, since the peer had them before, are read for it meanwhile.
func (s *Source) digest(name string, shape Shape) (d Digest, known bool, err error) {
	if err := s.same(name, shape); err != nil { // also: it has so many chunks, and no more
		return d, false, err
	}
	l := s.known(name, shape)
	if d, known = l.root(); known {
		return d, true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err, l.failed = l.failed, nil; err == nil && !l.reading {
		l.reading = true
		go func() {
			err := s.complete(name, shape, l)
			s.mu.Lock()
			defer s.mu.Unlock()
			l.reading, l.failed = false, err
		}()
	}
	return d, false, err
}

func (s *Source) complete(name string, shape Shape, l *lent) error {
	f, err := s.opened(name, shape)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := l.complete(s.ctx, name, f, shape, func(i int64, d Digest) { l.set(i, d) }); err != nil {
		return err
	}
	return s.same(name, shape)
}

// same refuses a file that has changed.
func (s *Source) same(name string, shape Shape) error {
	f, err := s.opened(name, shape)
	if err != nil {
		return err
	}
	return f.Close()
}
