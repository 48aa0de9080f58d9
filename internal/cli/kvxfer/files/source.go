// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
)

// Source is a folder that files are read from, by the names that peers use.
type Source struct {
	root *os.Root
	// names maps a peer's name of a file to its name here; nil: any file of the
	// folder, by its own.
	names map[string]string
}

// open returns a file and its shape in chunks of a size.
func (s *Source) open(name string, chunk int64) (*os.File, Shape, error) {
	if err := CheckName(name); err != nil {
		return nil, Shape{}, err
	}
	local := name
	if s.names != nil {
		var ok bool
		if local, ok = s.names[name]; !ok {
			return nil, Shape{}, fmt.Errorf("%s: no such file is offered", name)
		}
	}
	f, err := s.root.Open(local)
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

// read fills into with a chunk, unless the file has changed, and returns its digest.
func (s *Source) read(name string, shape Shape, i int64, into []byte) (Digest, error) {
	f, now, err := s.open(name, shape.Chunk)
	if err != nil {
		return Digest{}, err
	}
	defer func() { _ = f.Close() }()
	if now != shape {
		return Digest{}, fmt.Errorf("%w: %s", ErrChanged, name)
	}
	offset, _ := shape.at(i)
	if _, err := f.ReadAt(into, offset); err != nil && err != io.EOF {
		return Digest{}, err
	}
	return sha256.Sum256(into), nil
}

// digest reads the whole file; known are the chunks whose digests are known.
func (s *Source) digest(name string, shape Shape, known map[int64]Digest) (Digest, error) {
	digests := make([]Digest, shape.chunks())
	buf := make([]byte, min(shape.Chunk, shape.Size))
	for i := range shape.chunks() {
		d, ok := known[i]
		if !ok {
			_, n := shape.at(i)
			var err error
			if d, err = s.read(name, shape, i, buf[:n]); err != nil {
				return Digest{}, err
			}
		}
		digests[i] = d
	}
	return whole(shape.Size, shape.Chunk, digests), nil
}
