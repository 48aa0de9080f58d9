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

// Pauses between attempts towards a store that fails.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// candidate is an incarnation that is to become this rank's current one.
type candidate struct {
	name  ownership.Incarnation
	lease LeaseID
	until time.Time
}

func (r *Rank) candidate(ctx context.Context, name ownership.Incarnation) (candidate, error) {
	sent := time.Now()
	lease, err := r.config.Store.Grant(ctx, r.config.Lease)
	if err != nil {
		return candidate{}, err // without a lease its end would never be known
	}
	r.mu.Lock()
	r.view.ownNames[name] = true
	r.mu.Unlock()
	return candidate{name, lease, sent.Add(r.config.Lease)}, nil
}

// register makes an incarnation this rank's current one, and returns the
// revision. It is a member when the view has applied that. A process that joins
// takes the place of whoever has it; one that joins again takes an empty place.
func (r *Rank) register(ctx context.Context, c candidate, again bool) (Revision, error) {
	member, alive := r.keys.member(r.config.Rank, c.name), r.keys.alive(r.config.Rank)
	txn := Txn{If: []Condition{{Key: member}}, Put: []Put{
		{Key: member, Value: []byte(c.name.String())},
		{Key: alive, Value: []byte(c.name.String()), Lease: c.lease},
	}}
	if again {
		txn.If = append(txn.If, Condition{Key: alive})
	}
	r.step(BeforeRegister)
	at, err := r.config.Store.Commit(ctx, txn)
	var there *ConditionError
	if errors.As(err, &there) && there.Key == member { // an earlier attempt had come through
		at, err = there.Have, nil
	}
	if err != nil {
		return 0, err
	}
	r.step(AfterRegister)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.view.lives[c.name] == nil && r.view.applied >= at { // it would have been read
		return 0, fmt.Errorf("cluster: registered at revision %d after %d: %w", at, r.view.applied, ErrRewound)
	}
	r.name, r.lease, r.until = c.name, c.lease, c.until
	r.view.nameAgain()
	return at, nil
}

// leased reports whether the store counts this rank as alive for sure. The
// caller holds mu.
func (r *Rank) leased() bool {
	l := r.view.lives[r.name]
	return l != nil && !l.gone && time.Now().Before(r.until)
}

// live keeps one incarnation after the other until the rank is closed or
// replaced.
func (r *Rank) live() {
	for {
		r.setStatus(Live, nil)
		ctx, lost := context.WithCancel(r.ctx)
		var both sync.WaitGroup
		both.Go(func() { defer lost(); r.keepAlive(ctx) })
		both.Go(func() { defer lost(); r.write(ctx) })
		both.Wait()
		if r.ctx.Err() != nil {
			return
		}
		r.setStatus(Joining, ErrLeaseEnded)
		if !r.rejoin() {
			break
		}
	}
	if r.ctx.Err() == nil {
		r.setStatus(Replaced, ErrReplaced)
		r.outlive()
	}
}

// outlive is for a process that was replaced: it reads on, and writes the fence
// of what it held once all of that is drained.
func (r *Rank) outlive() {
	for {
		r.writeOwnFences(r.ctx)
		select {
		case <-r.kick:
		case <-r.ctx.Done():
			return
		}
	}
}

// replaced reports whether the rank's newest life is another process's.
func (r *Rank) replaced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.view.current(r.config.Rank)
	return l != nil && !l.own
}

// rejoin registers a new incarnation, however long the store is out of reach;
// false when the rank is closed, or another process has its place.
func (r *Rank) rejoin() bool {
	var c candidate
	for pause := firstPause; !r.replaced(); pause = min(2*pause, lastPause) {
		var err error
		if c.name.IsZero() || !time.Now().Before(c.until) {
			c, err = r.candidate(r.ctx, ownership.NewIncarnation())
		}
		if err == nil {
			var at Revision
			if at, err = r.register(r.ctx, c, true); err == nil {
				return r.waitApplied(r.ctx, at) == nil
			}
		}
		if errors.Is(err, ErrLeaseEnded) {
			c = candidate{}
		}
		var taken *ConditionError
		if !errors.As(err, &taken) {
			r.failed(err)
		}
		if !sleep(r.ctx, pause) {
			return false
		}
	}
	return false
}

// keepAlive keeps the lease until it has ended.
func (r *Rank) keepAlive(ctx context.Context) {
	r.mu.Lock()
	lease := r.lease
	r.mu.Unlock()
	every := r.config.Lease / 3
	for pause := every; sleep(ctx, pause); {
		sent := time.Now()
		one, cancel := context.WithTimeout(ctx, every)
		err := r.config.Store.KeepAlive(one, lease)
		cancel()
		switch {
		case err == nil:
			pause = every
			r.mu.Lock()
			r.until = sent.Add(r.config.Lease)
			r.mu.Unlock()
		case errors.Is(err, ErrLeaseEnded), r.lost():
			return
		default:
			pause = min(firstPause, every)
			r.failed(err)
		}
	}
}

// lost reports whether the current incarnation is known to be gone.
func (r *Rank) lost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lostLocked()
}

func (r *Rank) lostLocked() bool {
	l := r.view.lives[r.name]
	return l != nil && l.gone
}
