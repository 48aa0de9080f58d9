// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Revision numbers the changes of a store. It only grows; 0 is before the first.
type Revision int64

// LeaseID names a lease of a store. 0 is none.
type LeaseID int64

// Entry is one key of a store, as it is.
type Entry struct {
	Key      string
	Value    []byte
	Revision Revision // that of its last change
}

// Event is one change of one key. Value is empty where the key was deleted.
type Event struct {
	Entry
	Deleted bool
}

// Condition holds if the last change of a key was at a revision; 0: if the key
// does not exist.
type Condition struct {
	Key      string
	Revision Revision
}

// Put sets a key. With a lease the key is deleted when the lease ends.
type Put struct {
	Key   string
	Value []byte
	Lease LeaseID
}

// Range is all keys from From up to and without To.
type Range struct{ From, To string }

// Txn is applied as a whole and at one revision, or not at all.
type Txn struct {
	If     []Condition
	Put    []Put
	Delete []Range
}

// Store is what ranks share: a strictly serialisable map of keys with
// revisions, leases and watches, such as etcd. Methods may be called from any
// goroutine. Package storetest checks an implementation.
type Store interface {
	// Load returns all keys with a prefix and the revision as of which they are.
	Load(ctx context.Context, prefix string) ([]Entry, Revision, error)
	// Watch starts to watch the keys with a prefix, from the change after a
	// revision on.
	Watch(ctx context.Context, prefix string, after Revision) (Watch, error)
	// Commit applies a transaction and returns its revision. If a condition
	// does not hold nothing changes and the error is a *ConditionError. After
	// any other error it may have been applied or not.
	Commit(ctx context.Context, txn Txn) (Revision, error)
	// Grant makes a lease that ends when it was not kept alive for ttl.
	Grant(ctx context.Context, ttl time.Duration) (LeaseID, error)
	// KeepAlive starts the lease's ttl anew. The error matches ErrLeaseEnded if
	// the store has ended it.
	KeepAlive(ctx context.Context, id LeaseID) error
	// Revoke ends a lease now.
	Revoke(ctx context.Context, id LeaseID) error
}

// Watch is a running watch.
type Watch interface {
	// Next waits for the next changes, in order and none left out. After an
	// error the watch is over: ErrCompacted if the store has forgotten changes
	// that were not delivered, the context's error, or whatever broke it.
	Next(ctx context.Context) ([]Event, error)
	// Close ends the watch. Closing twice is fine.
	Close()
}

// Errors of stores. Other errors are taken for passing: the store is out of
// reach.
var (
	// ErrCompacted: the store has forgotten the changes that a watch asked for.
	ErrCompacted = errors.New("changes are compacted away")
	// ErrLeaseEnded: the store has ended the lease.
	ErrLeaseEnded = errors.New("lease has ended")
	// ErrFull: the store takes no writes until somebody makes room.
	ErrFull = errors.New("store is full")
	// ErrRewound: the store's revisions have gone back: its data was lost. Nothing
	// retires any more, for nobody knows what was said.
	ErrRewound = errors.New("store has lost its data")
	// ErrStopped: the other side of the store is gone for good.
	ErrStopped = errors.New("store is stopped")
)

// ConditionError says which condition of a Txn did not hold.
type ConditionError struct {
	Key  string
	Want Revision // that of the condition
	Have Revision // that of the key
}

// Error names the key and both revisions.
func (e *ConditionError) Error() string {
	return fmt.Sprintf("cluster: key %s: its revision is %d, want %d", e.Key, e.Have, e.Want)
}
