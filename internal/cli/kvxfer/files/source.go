// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
)

// Source is a folder that files are read from, by the names that peers use.
type Source struct {
	root *os.Root
	// names maps a peer's name of a file to its name here; nil: any file of the
	// folder, by its own.
	names map[string]string

	ctx  context.Context // of what is hashed
	mu   sync.Mutex
	lent map[hashKey]*lent // guarded by mu
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

// read fills into with a chunk, unless the file has changed, and returns its checksum.
func (s *Source) read(name string, shape Shape, i int64, into []byte) (Checksum, error) {
	f, now, err := s.open(name, shape.Chunk)
	if err != nil {
		return Checksum{}, err
	}
	defer func() { _ = f.Close() }()
	if now != shape {
		return Checksum{}, fmt.Errorf("%w: %s", ErrChanged, name)
	}
	offset, _ := shape.at(i)
	if _, err := f.ReadAt(into, offset); err != nil && err != io.EOF {
		return Checksum{}, err
	}
	return checksum(into), nil
}
