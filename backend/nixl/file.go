// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// File is an open file as a range of remote addresses, which is what requests
// of package backend are made of: the peer of an operation on it is the
// agent's own name. The addresses are names only; no memory is there.
type File struct {
	registration
	fd uint64
}

// Segment is n bytes of the file from offset on.
func (f *File) Segment(offset, n uint64) backend.Segment {
	return backend.Segment{Addr: uint64(f.memory.Addr) + offset, Len: n}
}

// The files' addresses start where no process has memory, and lie apart, so
// that a segment that runs past a file's end is in none.
const (
	firstFile = 1 << 56
	fileGap   = 1 << 30
)

// files are the registered files of one backend, by rising address.
type files struct {
	mu     sync.Mutex
	next   uint64
	all    []*File
	stores map[string]bool // other names of our own storage, see Store
}

// RegisterFile makes the first n bytes of an open file the far side of
// operations: a WRITE to it offloads, a READ from it restores. The file must
// stay open until Deregister has succeeded. Only for a Config.Plugin that
// serves files.
func (b *Backend) RegisterFile(f *os.File, n uint64) (*File, error) {
	reg, err := b.agent.RegisterFile(f, n, b.plugin)
	if err != nil {
		return nil, translate(err)
	}
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	at := max(b.files.next, firstFile)
	b.files.next = at + (n+fileGap-1)/fileGap*fileGap + fileGap
	file := &File{fd: uint64(reg.Segment().Dev)}
	file.registration = registration{owner: b, reg: reg, memory: backend.Memory{Addr: uintptr(at), Len: n}}
	b.files.all = append(b.files.all, file)
	return file, nil
}

func (f *files) remove(r *registration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = slices.DeleteFunc(f.all, func(file *File) bool { return &file.registration == r })
}

// resolve turns the remote addresses of a request into places in files.
func (f *files) resolve(cfg *nixl.RequestConfig) error {
	if len(cfg.Notify) != 0 {
		return fmt.Errorf("%w: storage has nobody to notify", backend.ErrInvalid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	cfg.RemoteMem = nixl.File
	for i, s := range cfg.Remote {
		file := f.find(s)
		if file == nil {
			return fmt.Errorf("%w: remote segment %d, %#x+%d, is in no registered file", backend.ErrInvalid, i, s.Addr, s.Len)
		}
		cfg.Remote[i] = nixl.Segment{Addr: s.Addr - uint64(file.memory.Addr), Len: s.Len, Dev: file.fd}
	}
	return nil
}

// find returns the file that s lies in. The caller holds mu.
func (f *files) find(s nixl.Segment) *File {
	for _, file := range f.all {
		start := uint64(file.memory.Addr)
		if s.Addr >= start && s.Len <= file.memory.Len && s.Addr-start <= file.memory.Len-s.Len {
			return file
		}
	}
	return nil
}
