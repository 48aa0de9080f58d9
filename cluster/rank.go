// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// Rank is this process's place in a group. All methods may be called from any
// goroutine.
type Rank struct {
	config Config
	keys   keys
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   sync.WaitGroup
	kick   chan struct{} // something waits to be written

	mu        sync.Mutex
	view      *view                 // guarded by mu
	name      ownership.Incarnation // guarded by mu; the current life
	lease     LeaseID               // guarded by mu
	until     time.Time             // guarded by mu; the lease is certain until then
	status    Status                // guarded by mu
	moved     chan struct{}         // guarded by mu; closed when a change was applied
	segments  []written             // guarded by mu; of this rank, in the store
	collected time.Time             // guarded by mu; when segments were last deleted
	// guarded by mu; the first segments are being deleted. More may be added meanwhile.
	collecting bool
	ackedAt    time.Time // guarded by mu; when this rank last told how far it has read
	adopted    bool      // guarded by mu
}

// Join makes this process a rank of its group: it registers a new incarnation
// and starts to apply what the ranks write. Another process that held the place
// is in doubt from then on. The context bounds joining alone; Close ends the rank.
func Join(ctx context.Context, config Config) (*Rank, error) {
	c, err := config.validate()
	if err != nil {
		return nil, err
	}
	r := &Rank{config: c, keys: keys{c.Prefix + c.Group + "/"}, kick: make(chan struct{}, 1), moved: make(chan struct{})}
	r.view = newView(c.Ranks, r.keys)
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.status = Status{Standing: Joining}
	if err = r.start(ctx); err == nil {
		return r, nil
	}
	_ = r.Close()
	return nil, fmt.Errorf("cluster: join %s as rank %d: %w", c.Group, c.Rank, err)
}

func (r *Rank) start(ctx context.Context) error {
	c, err := r.candidate(ctx, r.config.Incarnation)
	if err != nil {
		return err
	}
	at, err := r.register(ctx, c, false)
	if err != nil {
		return err
	}
	r.done.Go(r.watch)
	if err := r.waitApplied(ctx, at); err != nil {
		return err
	}
	r.done.Go(r.live)
	return nil
}

// Close ends the rank's goroutines. Its lease ends by itself, as if the process
// had died: what the rank held without being drained is in doubt for all
// others. Closing twice is fine.
func (r *Rank) Close() error {
	r.cancel(ErrClosed)
	r.done.Wait()
	r.setStatus(Closed, nil)
	return nil
}

// Leave is Close for a rank that holds nothing any more: it ends the lease at
// once. The error matches fsm.Refused while a request is open here.
func (r *Rank) Leave(ctx context.Context) error {
	r.mu.Lock()
	lease, held := r.lease, 0
	for _, q := range r.view.requests {
		if q.rank != nil {
			held++
		}
	}
	r.mu.Unlock()
	if held > 0 {
		return fmt.Errorf("cluster: leave: %d requests are open here: %w", held, errHeld)
	}
	_ = r.Close()
	if err := r.config.Store.Revoke(ctx, lease); err != nil && !errors.Is(err, ErrLeaseEnded) {
		return fmt.Errorf("cluster: leave: %w", err)
	}
	return nil
}

// Incarnation returns this process's current life in the group. It changes when
// the store has ended the lease and the rank has joined again.
func (r *Rank) Incarnation() ownership.Incarnation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.name
}

// Epoch returns the epoch for a new request: its cohort is who is registered
// now. The error matches ErrIncomplete while a rank has never joined. A rank
// that is gone is part of a cohort too, until a new incarnation takes its place;
// a request with it ends at once.
func (r *Rank) Epoch() (Revision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.view.epoch(); e > 0 {
		return e, nil
	}
	return 0, fmt.Errorf("cluster: epoch: %w", ErrIncomplete)
}

// WaitEpoch waits until every rank has joined, and returns the epoch.
func (r *Rank) WaitEpoch(ctx context.Context) (Revision, error) {
	for {
		r.mu.Lock()
		e, moved := r.view.epoch(), r.moved
		r.mu.Unlock()
		if e > 0 {
			return e, nil
		}
		if err := r.await(ctx, moved); err != nil {
			return 0, err
		}
	}
}

// Watermark says that all requests of a creating endpoint with a number below
// are over for good, on all ranks, so that their names need not be remembered
// here. It never goes back.
func (r *Rank) Watermark(endpoint string, below uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.view
	if below <= v.below[endpoint] {
		return
	}
	v.below[endpoint] = below
	for s := range v.past {
		if s.Request.Endpoint == endpoint && s.Request.Number < below {
			delete(v.past, s)
		}
	}
}

// Counters returns the totals.
func (r *Rank) Counters() Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.view.counters
	c.Open, c.Past, c.Segments = len(r.view.requests), len(r.view.past), len(r.segments)
	return c
}

// Applied returns the revision up to which this rank has applied the changes.
func (r *Rank) Applied() Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view.applied
}

func (r *Rank) waitApplied(ctx context.Context, at Revision) error {
	for {
		r.mu.Lock()
		applied, moved := r.view.applied, r.moved
		r.mu.Unlock()
		if applied >= at {
			return nil
		}
		if err := r.await(ctx, moved); err != nil {
			return err
		}
	}
}

func (r *Rank) await(ctx context.Context, moved <-chan struct{}) error {
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// wake makes the writer look. The caller holds mu or not.
func (r *Rank) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// sleep waits, and says false when the rank ends.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
