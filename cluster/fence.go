// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// Fence is the record of outside proof that nothing can reach what one
// incarnation of a rank held any more. Whoever writes one vouches for it.
type Fence struct {
	Rank        int                   `json:"rank"`
	Incarnation ownership.Incarnation `json:"-"`
	Life        string                `json:"incarnation"`
	// Kind is what sort of proof it is, Checked what was looked at and found.
	Kind    string `json:"kind"`
	Checked string `json:"checked"`
	// By is who checked, At when, by that one's clock.
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Fence writes a fence, which all ranks apply in the order of revisions. The
// error matches ErrAlive while the store counts the incarnation as alive,
// ErrUnknown if there never was one, ErrConfig if the record does not say what
// was checked and by whom, fsm.Refused if it is one of this process's own and this
// process knows better: it holds what is not drained. A fence that is there already
// stays as it is.
func (r *Rank) Fence(ctx context.Context, f Fence) error {
	switch {
	case f.Rank < 0 || f.Rank >= r.config.Ranks:
		return fmt.Errorf("cluster: fence: rank %d of %d: %w", f.Rank, r.config.Ranks, ErrConfig)
	case f.Kind == "" || f.Checked == "" || f.By == "":
		return fmt.Errorf("cluster: fence: kind, checked and by are required: %w", ErrConfig)
	}
	r.mu.Lock()
	l := r.view.lives[f.Incarnation]
	alive := l != nil && !l.gone
	undrained := r.view.undrained[l]
	r.mu.Unlock()
	switch {
	case l == nil || l.rank != f.Rank:
		return fmt.Errorf("cluster: fence: incarnation %v of rank %d: %w", f.Incarnation, f.Rank, ErrUnknown)
	case alive: // what was gone once never comes back, so the view is recent enough
		return fmt.Errorf("cluster: fence: incarnation %v of rank %d: %w", f.Incarnation, f.Rank, ErrAlive)
	case undrained > 0: // of this process: others' are not counted
		return fmt.Errorf("cluster: fence: incarnation %v of rank %d: %d requests of it are not drained here: %w", f.Incarnation, f.Rank, undrained, errHeld)
	}
	return r.writeFence(ctx, f)
}

func (r *Rank) writeFence(ctx context.Context, f Fence) error {
	f.Life = f.Incarnation.String()
	if f.At.IsZero() {
		f.At = time.Now()
	}
	value, err := json.Marshal(f)
	if err != nil {
		return err
	}
	key := r.keys.fence(f.Incarnation)
	r.step(BeforeFence)
	_, err = r.config.Store.Commit(ctx, Txn{If: []Condition{{Key: key}}, Put: []Put{{Key: key, Value: value}}})
	var there *ConditionError
	if errors.As(err, &there) {
		err = nil
	}
	if err == nil {
		r.step(AfterFence)
	}
	return err
}

func parseFence(value []byte) (Fence, error) {
	var f Fence
	if err := json.Unmarshal(value, &f); err != nil {
		return Fence{}, fmt.Errorf("cluster: fence %q: %w: %w", value, ErrRecord, err)
	}
	i, err := ownership.ParseIncarnation(f.Life)
	if err != nil {
		return Fence{}, fmt.Errorf("cluster: fence: %w: %w", ErrRecord, err)
	}
	f.Incarnation = i
	return f, nil
}

// fenceable returns a life of this process that is gone and of which all that
// was held is drained. The caller holds mu.
func (r *Rank) fenceable() *life {
	for name := range r.view.ownNames {
		if l := r.view.lives[name]; l != nil && l.gone && !l.fenced && !l.fencing && r.view.undrained[l] == 0 {
			return l
		}
	}
	return nil
}

// writeOwnFences writes the fences that this process itself can vouch for: it
// has outlived its own incarnation and knows what that held.
func (r *Rank) writeOwnFences(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		l := r.fenceable()
		if l != nil {
			l.fencing = true
		}
		by := fmt.Sprintf("%s rank %d, incarnation %v", r.config.Group, r.config.Rank, r.name)
		r.mu.Unlock()
		if l == nil {
			return
		}
		one, cancel := context.WithTimeout(ctx, r.config.Lease)
		err := r.writeFence(one, Fence{Rank: l.rank, Incarnation: l.name, Kind: "drained", By: by,
			Checked: "the process has outlived its lease, and every request that it held is drained"})
		cancel()
		if err != nil {
			r.failed(err)
			r.mu.Lock()
			l.fencing = false
			r.mu.Unlock()
			if !sleep(ctx, firstPause) {
				return
			}
		}
	}
}
