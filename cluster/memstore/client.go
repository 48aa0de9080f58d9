// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
)

// ErrPartitioned is what a client gives whose partition ended a call.
var ErrPartitioned = errors.New("memstore: store is out of reach")

// Client is one rank's way to a Store. It implements cluster.Store. All methods
// may be called from any goroutine.
type Client struct {
	mu      sync.Mutex
	store   *Store        // guarded by mu
	there   time.Duration // guarded by mu; how long a call takes to the store
	back    time.Duration // guarded by mu; and its answer, or a change, back
	cut     chan struct{} // guarded by mu; closed while nothing gets through
	healed  chan struct{} // guarded by mu; closed while everything does
	forget  int           // guarded by mu; so many commits are applied, and not answered
	watches map[*watch]bool
}

var _ cluster.Store = (*Client)(nil)

// Client returns a way to the store without faults.
func (s *Store) Client() *Client {
	c := &Client{store: s, cut: make(chan struct{}), healed: make(chan struct{}), watches: map[*watch]bool{}}
	close(c.healed)
	return c
}

// SetDelay makes each call take so long to the store, and each answer and each
// change so long back.
func (c *Client) SetDelay(there, back time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there, c.back = there, back
}

// Partition cuts the client off: calls hang until their context ends, watches
// deliver nothing. Heal ends it.
func (c *Client) Partition() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.healed:
		c.healed = make(chan struct{})
		close(c.cut)
	default:
	}
}

// Heal ends a Partition.
func (c *Client) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.healed:
	default:
		close(c.healed)
		c.cut = make(chan struct{})
	}
}

// LoseWatches ends the running watches with an error.
func (c *Client) LoseWatches() {
	c.mu.Lock()
	running := slices.Collect(maps.Keys(c.watches))
	c.mu.Unlock()
	for _, w := range running {
		w.Close()
	}
}

// LoseAnswers makes the next n commits end with an error although they are
// applied.
func (c *Client) LoseAnswers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget = n
}

// MoveTo makes another store answer from now on, as if the data of the one
// before were lost.
func (c *Client) MoveTo(s *Store) {
	c.mu.Lock()
	c.store = s
	c.mu.Unlock()
	c.LoseWatches()
}

func (c *Client) behind() *Store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store
}

// pass takes a message to the store or, with back, from it.
func (c *Client) pass(ctx context.Context, back bool) error {
	for {
		c.mu.Lock()
		healed, cut, d := c.healed, c.cut, c.there
		if back {
			d = c.back
		}
		c.mu.Unlock()
		select {
		case <-healed:
		case <-ctx.Done():
			return errors.Join(ErrPartitioned, context.Cause(ctx))
		}
		if d <= 0 {
			return ctx.Err()
		}
		t := time.NewTimer(d)
		select {
		case <-t.C:
			return nil
		case <-cut:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}

// call does something at the store, with the way there and back.
func call[T any](c *Client, ctx context.Context, do func() (T, error)) (T, error) {
	var none T
	if err := c.pass(ctx, false); err != nil {
		return none, err
	}
	v, failed := do()
	if err := c.pass(ctx, true); err != nil {
		return none, err
	}
	return v, failed
}

// Load implements cluster.Store.
func (c *Client) Load(ctx context.Context, prefix string) ([]cluster.Entry, cluster.Revision, error) {
	type both struct {
		list []cluster.Entry
		at   cluster.Revision
	}
	b, err := call(c, ctx, func() (both, error) {
		list, at := c.behind().load(prefix)
		return both{list, at}, nil
	})
	return b.list, b.at, err
}

// Commit implements cluster.Store.
func (c *Client) Commit(ctx context.Context, txn cluster.Txn) (cluster.Revision, error) {
	at, err := call(c, ctx, func() (cluster.Revision, error) { return c.behind().commit(txn) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.forget > 0 {
		c.forget--
		return 0, fmt.Errorf("memstore: the answer is lost: %w", ErrPartitioned)
	}
	return at, err
}

// Grant implements cluster.Store.
func (c *Client) Grant(ctx context.Context, ttl time.Duration) (cluster.LeaseID, error) {
	return call(c, ctx, func() (cluster.LeaseID, error) { return c.behind().grant(ttl), nil })
}

// KeepAlive implements cluster.Store.
func (c *Client) KeepAlive(ctx context.Context, id cluster.LeaseID) error {
	_, err := call(c, ctx, func() (struct{}, error) { return struct{}{}, c.behind().keepAlive(id) })
	return err
}

// Revoke implements cluster.Store.
func (c *Client) Revoke(ctx context.Context, id cluster.LeaseID) error {
	_, err := call(c, ctx, func() (struct{}, error) { return struct{}{}, c.behind().revoke(id) })
	return err
}

// Watch implements cluster.Store.
func (c *Client) Watch(ctx context.Context, prefix string, after cluster.Revision) (cluster.Watch, error) {
	if err := c.pass(ctx, false); err != nil {
		return nil, err
	}
	w := &watch{client: c, store: c.behind(), prefix: prefix, after: after, lost: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[w] = true
	return w, nil
}

type watch struct {
	client *Client
	store  *Store
	prefix string
	after  cluster.Revision
	once   sync.Once
	lost   chan struct{}
}

// Next implements cluster.Watch.
func (w *watch) Next(ctx context.Context) ([]cluster.Event, error) {
	for {
		events, upTo, changed, err := w.store.since(w.prefix, w.after)
		if err != nil {
			return nil, err
		}
		w.after = upTo
		if len(events) > 0 {
			return events, w.client.pass(ctx, true)
		}
		select {
		case <-changed:
		case <-w.lost:
			return nil, fmt.Errorf("memstore: the watch is lost: %w", ErrPartitioned)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close implements cluster.Watch.
func (w *watch) Close() {
	w.once.Do(func() {
		close(w.lost)
		w.client.mu.Lock()
		defer w.client.mu.Unlock()
		delete(w.client.watches, w)
	})
}
