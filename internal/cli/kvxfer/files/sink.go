// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Errors of taking a file in.
var (
	// ErrExists: there is a file of that name, which is not to be replaced.
	ErrExists = errors.New("the file exists")
	// ErrChanged: the file is not what it was when it was asked for.
	ErrChanged = errors.New("the file has changed")
	// ErrDigest: bytes do not have the digest that their sender gave them.
	ErrDigest = errors.New("wrong digest")
)

// Sink is a file that comes in. write may be called from several goroutines;
// the rest belongs to one.
type Sink struct {
	root    *os.Root
	name    string
	replace bool
	shape   Shape
	part    *os.File // nil once the file is in place

	mu      sync.Mutex
	journal *journal // written under mu
	digests *digests // of the chunks that are there
	// Resumed is how many bytes were there already, done how many are there now.
	Resumed int64
	done    *atomic.Int64
}

// openSink makes an unfinished file, or goes on with one of the same version.
// What was noted of that is compared with its bytes.
func openSink(ctx context.Context, root *os.Root, name string, shape Shape, replace bool) (*Sink, error) {
	if err := errors.Join(CheckName(name), shape.check()); err != nil {
		return nil, err
	}
	s := &Sink{
		root: root, name: name, replace: replace, shape: shape, digests: newDigests(shape), done: new(atomic.Int64),
	}
	h, noted, err := readJournal(root, name)
	ours := err == nil && h.Shape == shape
	if ours {
		if s.part, err = root.OpenFile(partName(name), os.O_RDWR, 0); err == nil {
			return s, s.resume(ctx, noted)
		}
	}
	if info, err := root.Stat(name); err == nil {
		if !replace || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s", ErrExists, name)
		}
	}
	if s.journal, err = createJournal(root, header{Shape: shape, File: name}); err != nil {
		return nil, err
	}
	s.part, err = root.OpenFile(partName(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		err = s.part.Truncate(shape.Size)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// inPlace returns a file that has the name and the size already, with the digests of what
// it holds; nil if there is none. Who began it, if anybody, is not asked.
func inPlace(ctx context.Context, root *os.Root, name string, shape Shape) (*Sink, error) {
	if err := errors.Join(CheckName(name), shape.check()); err != nil {
		return nil, err
	}
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != shape.Size {
		return nil, nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	s := &Sink{root: root, name: name, shape: shape, digests: newDigests(shape), done: new(atomic.Int64)}
	if err := s.digests.complete(ctx, name, f, shape, s.took); err != nil {
		return nil, err
	}
	s.Resumed = shape.Size
	return s, nil
}

func (s *Sink) resume(ctx context.Context, noted map[int64]Digest) (err error) {
	if err = s.part.Truncate(s.shape.Size); err == nil {
		err = s.verify(ctx, s.part, noted)
	}
	if err == nil {
		s.journal, err = resumeJournal(s.root, s.name)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// verify keeps the noted chunks whose bytes are there.
func (s *Sink) verify(ctx context.Context, f *os.File, noted map[int64]Digest) error {
	err := hashChunks(ctx, f, s.shape, slices.Sorted(maps.Keys(noted)), func(i int64, d Digest) {
		if d == noted[i] {
			s.took(i, d)
		}
	})
	s.Resumed = s.done.Load()
	return err
}

func (s *Sink) took(i int64, d Digest) {
	if s.digests.set(i, d) {
		_, n := s.shape.at(i)
		s.done.Add(n)
	}
}

// missing returns the chunks that are not there.
func (s *Sink) missing() []int64 { return s.digests.missing() }

// write puts a chunk in its place, and keeps it if it has the digest that its sender
// gave it.
func (s *Sink) write(i int64, data []byte, want Digest) error {
	offset, n := s.shape.at(i)
	if int64(len(data)) != n {
		return fmt.Errorf("chunk %d: %w", i, ErrDigest)
	}
	d, err := writeHashed(s.part, offset, data)
	switch {
	case err != nil:
		return err
	case d != want:
		return fmt.Errorf("chunk %d: %w", i, ErrDigest)
	}
	s.mu.Lock()
	err = s.journal.add(i, d)
	s.mu.Unlock()
	if err == nil {
		s.took(i, d)
	}
	return err
}

// finish gives the file its name, once every byte of it is on the disk. The journal stays
// until forget.
func (s *Sink) finish() error {
	if s.part == nil { // it was in place before
		return nil
	}
	if n := len(s.missing()); n > 0 {
		return fmt.Errorf("%s: %d chunks are missing", s.name, n)
	}
	err := s.part.Sync()
	if err == nil && !s.replace {
		if _, there := s.root.Lstat(s.name); there == nil {
			err = fmt.Errorf("%w: %s", ErrExists, s.name)
		}
	}
	if err == nil {
		err = s.root.Rename(partName(s.name), s.name)
	}
	if err == nil {
		err = syncFolder(s.root)
	}
	return err
}

// forget removes what is beside the file, for nobody goes on with it.
func (s *Sink) forget() error {
	var errs []error
	for _, name := range []string{journalName(s.name), partName(s.name)} {
		if err := s.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close closes the files and leaves them as they are, to go on another time.
func (s *Sink) Close() error {
	var err error
	if s.part != nil {
		err = s.part.Close()
	}
	if s.journal != nil {
		err = errors.Join(err, s.journal.close())
	}
	return err
}

func syncFolder(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
