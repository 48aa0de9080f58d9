// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package memstore is a cluster.Store in memory: for the ranks of one process,
// for tests, and for simulations in virtual time. Every rank has a Client of
// its own, and faults can be put between it and the store.
package memstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
)

// DefaultHistory is how many changes a store remembers for watches.
const DefaultHistory = 1 << 14

// Store is the shared side. Make one with New. All methods may be called from
// any goroutine.
type Store struct {
	mu       sync.Mutex
	entries  map[string]record
	revision cluster.Revision
	log      []cluster.Event // the newest changes
	history  int
	changed  chan struct{} // closed at the next change
	leases   map[cluster.LeaseID]*lease
	lastID   cluster.LeaseID
	full     bool
	writes   uint64
	bytes    uint64
}

type record struct {
	cluster.Entry
	lease cluster.LeaseID
}

type lease struct {
	ttl   time.Duration
	timer *time.Timer
	keys  map[string]bool
}

// New returns an empty store that remembers at least history changes;
// DefaultHistory for 0.
func New(history int) *Store {
	if history <= 0 {
		history = DefaultHistory
	}
	return &Store{entries: map[string]record{}, history: history, changed: make(chan struct{}), leases: map[cluster.LeaseID]*lease{}}
}

// Compact forgets all changes: a watch that has not delivered them yet ends
// with cluster.ErrCompacted. What the keys are stays.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
	s.tell()
}

// SetFull makes the store refuse writes, or take them again. Deletions are
// always taken, and leases kept alive.
func (s *Store) SetFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// Stats are totals since New, and what is there now.
type Stats struct {
	Writes uint64 // transactions applied
	Bytes  uint64 // of keys and values put
	Keys   int
	Stored int // bytes of the keys and values there are
}

// Stats returns the totals.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Writes: s.writes, Bytes: s.bytes, Keys: len(s.entries)}
	for k, e := range s.entries {
		st.Stored += len(k) + len(e.Value)
	}
	return st
}

// Keys returns all keys in order.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.entries))
}

// ExpireLease ends the lease that a key is under, as if its time had run out.
func (s *Store) ExpireLease(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, there := s.entries[key]
	if !there || e.lease == 0 {
		return fmt.Errorf("memstore: key %s is under no lease: %w", key, cluster.ErrUnknown)
	}
	s.endLease(e.lease)
	return nil
}

func (s *Store) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store) load(prefix string) ([]cluster.Entry, cluster.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []cluster.Entry
	for k, e := range s.entries {
		if strings.HasPrefix(k, prefix) {
			list = append(list, e.Entry)
		}
	}
	slices.SortFunc(list, func(a, b cluster.Entry) int { return strings.Compare(a.Key, b.Key) })
	return list, s.revision
}

func (s *Store) commit(txn cluster.Txn) (cluster.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range txn.If {
		if have := s.entries[c.Key].Revision; have != c.Revision {
			return 0, &cluster.ConditionError{Key: c.Key, Want: c.Revision, Have: have}
		}
	}
	if s.full && len(txn.Put) > 0 {
		return 0, fmt.Errorf("memstore: %d keys: %w", len(s.entries), cluster.ErrFull)
	}
	for _, p := range txn.Put {
		if p.Lease != 0 && s.leases[p.Lease] == nil {
			return 0, fmt.Errorf("memstore: lease %d: %w", p.Lease, cluster.ErrLeaseEnded)
		}
	}
	s.revision++
	s.writes++
	for _, p := range txn.Put {
		s.put(p)
	}
	for _, r := range txn.Delete {
		for k := range s.entries {
			if k >= r.From && k < r.To {
				s.remove(k)
			}
		}
	}
	s.trim()
	s.tell()
	return s.revision, nil
}

func (s *Store) put(p cluster.Put) {
	s.detach(p.Key)
	e := cluster.Entry{Key: p.Key, Value: p.Value, Revision: s.revision}
	s.entries[p.Key] = record{e, p.Lease}
	if l := s.leases[p.Lease]; l != nil {
		l.keys[p.Key] = true
	}
	s.bytes += uint64(len(p.Key) + len(p.Value))
	s.log = append(s.log, cluster.Event{Entry: e})
}

func (s *Store) remove(key string) {
	s.detach(key)
	delete(s.entries, key)
	s.log = append(s.log, cluster.Event{Entry: cluster.Entry{Key: key, Revision: s.revision}, Deleted: true})
}

func (s *Store) detach(key string) {
	if l := s.leases[s.entries[key].lease]; l != nil {
		delete(l.keys, key)
	}
}

// trim forgets the oldest changes. A half more than asked for is kept, so that
// the copying costs little.
func (s *Store) trim() {
	if len(s.log) > s.history+s.history/2 {
		s.log = append([]cluster.Event(nil), s.log[len(s.log)-s.history:]...)
	}
}

// since returns the changes after a revision, and a channel that is closed at
// the next one.
func (s *Store) since(prefix string, after cluster.Revision) ([]cluster.Event, cluster.Revision, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.revision + 1 // the oldest change that is remembered whole
	if len(s.log) > 0 {
		first = s.log[0].Revision
		if len(s.log) >= s.history {
			first++ // of the oldest revision a part may be gone
		}
	}
	if after+1 < first && after < s.revision {
		return nil, 0, nil, fmt.Errorf("memstore: changes after revision %d: %w", after, cluster.ErrCompacted)
	}
	i, _ := slices.BinarySearchFunc(s.log, after+1, func(e cluster.Event, r cluster.Revision) int { return int(e.Revision - r) })
	var events []cluster.Event
	for _, e := range s.log[i:] {
		if strings.HasPrefix(e.Key, prefix) {
			events = append(events, e)
		}
	}
	return events, s.revision, s.changed, nil
}

func (s *Store) grant(ttl time.Duration) cluster.LeaseID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	id := s.lastID
	l := &lease{ttl: ttl, keys: map[string]bool{}}
	l.timer = time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leases[id] == l {
			s.endLease(id)
		}
	})
	s.leases[id] = l
	return id
}

func (s *Store) keepAlive(id cluster.LeaseID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[id]
	if l == nil || !l.timer.Reset(l.ttl) {
		return fmt.Errorf("memstore: lease %d: %w", id, cluster.ErrLeaseEnded)
	}
	return nil
}

func (s *Store) revoke(id cluster.LeaseID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[id] == nil {
		return fmt.Errorf("memstore: lease %d: %w", id, cluster.ErrLeaseEnded)
	}
	s.endLease(id)
	return nil
}

func (s *Store) endLease(id cluster.LeaseID) {
	l := s.leases[id]
	l.timer.Stop()
	delete(s.leases, id)
	if len(l.keys) == 0 {
		return
	}
	s.revision++
	for _, k := range slices.Sorted(maps.Keys(l.keys)) {
		s.remove(k)
	}
	s.trim()
	s.tell()
}
