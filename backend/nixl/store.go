// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
)

// Store is the far side of a storage plugin as a backend of its own: what an
// endpoint has that owns ranges of files as others own memory. It posts nothing
// and moves nothing; the [Backend] that it is of does, with the Store's name
// for the peer. Every method may be called from any goroutine.
//
// What it owns is registered with [Backend.RegisterFile] first; the memory of
// that registration is what Register takes.
type Store struct{ of *Backend }

var _ backend.Backend = (*Store)(nil)

// Store returns the far side under a name, by which operations of b reach the
// files too. Only for a Config.Plugin that serves files.
func (b *Backend) Store(name string) *Store {
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	if b.files.stores == nil {
		b.files.stores = map[string]bool{}
	}
	b.files.stores[name] = true
	return &Store{b}
}

// isStore reports whether a peer is our own storage under another name.
func (b *Backend) isStore(peer string) bool {
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	return b.files.stores[peer]
}

// Limits is the plugin's name, and no promise: nothing here stops the other side.
func (s *Store) Limits() backend.Limits { return backend.Limits{Transport: s.of.limits.Transport} }

// Register finds the file whose addresses these are.
func (s *Store) Register(m backend.Memory) (backend.Registration, error) {
	s.of.files.mu.Lock()
	defer s.of.files.mu.Unlock()
	for _, f := range s.of.files.all {
		if f.memory == m {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: %#x+%d are not the addresses of a registered file", backend.ErrInvalid, m.Addr, m.Len)
}

// Deregister is that of the file.
func (s *Store) Deregister(r backend.Registration) error {
	if _, ok := r.(*File); !ok {
		return fmt.Errorf("%w: not a file", backend.ErrInvalid)
	}
	return s.of.Deregister(r)
}

// Metadata is empty: the other side has the files itself.
func (s *Store) Metadata() ([]byte, error) { return nil, nil }

// Connect has nothing to load, for the only peer is the backend that it is of.
func (s *Store) Connect(string, []byte) error { return nil }

// Disconnect has nothing to forget.
func (s *Store) Disconnect(string) error { return nil }

// Prepare is refused: storage posts nothing.
func (s *Store) Prepare(backend.Request) (backend.Operation, error) {
	return nil, fmt.Errorf("%w: storage posts no operations", backend.ErrInvalid)
}

// Poll knows no operation.
func (s *Store) Poll(ops []backend.Operation, out []backend.Observation) {
	for i := range ops {
		out[i] = backend.Observation{Status: backend.NotFound, Err: errForeign}
	}
}

// Progress has nothing to do.
func (s *Store) Progress() ([]backend.Notification, error) { return nil, nil }

// Close ends nothing: the agent is the other side's.
func (s *Store) Close() error { return nil }
