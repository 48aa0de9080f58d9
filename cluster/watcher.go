// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// watch applies the changes of the store until the rank is closed. However the
// watch breaks, all keys are read anew: what was applied before is left out, and
// what the store has forgotten meanwhile nobody needs (see collect).
func (r *Rank) watch() {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		began := time.Now()
		err := r.follow(r.ctx)
		if r.ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		r.view.counters.Reloads++
		r.mu.Unlock()
		if time.Since(began) > lastPause || errors.Is(err, ErrCompacted) {
			pause = firstPause
		}
		if !errors.Is(err, ErrCompacted) {
			r.failed(err)
		}
		if !sleep(r.ctx, pause) {
			return
		}
	}
}

// follow reads everything and then watches from there.
func (r *Rank) follow(ctx context.Context) error {
	at, err := r.reload(ctx)
	if err != nil {
		return err
	}
	w, err := r.config.Store.Watch(ctx, r.keys.prefix, at)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		r.take(events, 0)
	}
}

// reload applies what is in the store and was not applied yet.
func (r *Rank) reload(ctx context.Context) (Revision, error) {
	entries, at, err := r.config.Store.Load(ctx, r.keys.prefix)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	before := r.view.applied
	r.mu.Unlock()
	if at < before {
		return 0, fmt.Errorf("cluster: revision %d after %d: %w", at, before, ErrRewound)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Revision, b.Revision) })
	alive := make(map[string]bool)
	var events []Event
	for _, e := range entries {
		alive[e.Key] = true
		if e.Revision > before {
			events = append(events, Event{Entry: e})
		}
	}
	r.adopt(entries)
	for rank := range r.config.Ranks { // the end of a lease leaves no key behind
		if key := r.keys.alive(rank); !alive[key] {
			events = append(events, Event{Entry{Key: key, Revision: at}, true})
		}
	}
	r.take(events, at)
	return at, nil
}

// take applies changes and hands on what they mean. upTo says how far the view
// has come with them, if that is further than the last one.
func (r *Rank) take(events []Event, upTo Revision) {
	r.step(BeforeApply)
	r.mu.Lock()
	for _, e := range events {
		if err := r.view.apply(e); err != nil {
			r.view.counters.Malformed++
		}
	}
	r.view.applied = max(r.view.applied, upTo)
	out := r.view.out
	r.view.out = nil
	for _, o := range out {
		if o.request != nil {
			o.request.tell(o.decision.Verdict)
		}
	}
	wake := len(r.view.pending) > 0 || r.view.unacked > 0 || r.fenceable() != nil || r.lostLocked() || r.collectable() > 0
	close(r.moved)
	r.moved = make(chan struct{})
	r.mu.Unlock()
	r.step(AfterApply)
	if wake {
		r.wake()
	}
	r.hand(out)
}

// hand calls the caller's functions, in order and without the lock.
func (r *Rank) hand(out []output) {
	for _, o := range out {
		switch {
		case o.fence != nil:
			if r.config.OnFence != nil {
				r.config.OnFence(*o.fence)
			}
		default:
			if r.config.OnDecision != nil {
				r.config.OnDecision(o.decision)
			}
			if o.decision.Verdict == End {
				r.step(AfterEnd)
			} else {
				r.step(AfterRetire)
			}
		}
	}
}

// tell closes the channel of whoever waits. The caller holds the rank's mu.
func (q *Request) tell(v Verdict) {
	ch := q.ended
	if v == Retire {
		ch = q.retired
	}
	if ch != nil {
		close(ch)
	}
}
