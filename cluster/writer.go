// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"sync"
	"time"
)

// written is a segment of this rank that is in the store.
type written struct {
	key   string
	at    Revision
	epoch Revision // the oldest of its statements
}

// write writes what there is to say, until the incarnation is gone. While one
// write is on its way the next one gathers.
func (r *Rank) write(ctx context.Context) {
	var collecting sync.WaitGroup
	defer collecting.Wait()
	var number uint64
	var last time.Time
	for r.waitForWork(ctx) {
		if !sleep(ctx, r.config.Tick-time.Since(last)) || r.lost() {
			return
		}
		last = time.Now()
		if b := r.gather(number + 1); len(b.txn.Put) > 0 {
			at, err := r.commit(ctx, b.txn)
			if err != nil {
				return // the incarnation is gone, or the rank closed
			}
			if b.statements > 0 {
				number++
				r.keep(written{key: b.txn.Put[0].Key, at: at, epoch: b.epoch})
			}
		}
		r.writeOwnFences(ctx)
		r.collect(ctx, &collecting)
	}
}

// waitForWork waits until something is to be written. A rank with nothing to
// say tells after a while how far it has read.
func (r *Rank) waitForWork(ctx context.Context) bool {
	idle := time.NewTimer(r.config.AckAfter)
	defer idle.Stop()
	armed := true
	for {
		r.mu.Lock()
		work := len(r.view.pending) > 0 || r.fenceable() != nil || r.lostLocked() || r.collectDue()
		later := r.view.unacked > 0 || r.collectable() > 0
		r.mu.Unlock()
		if work {
			return ctx.Err() == nil
		}
		if later != armed { // nothing wakes up while nothing is to be done
			if armed = later; armed {
				idle.Reset(r.config.AckAfter)
			} else {
				idle.Stop()
			}
		}
		select {
		case <-r.kick:
		case <-idle.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// batch is one write of statements.
type batch struct {
	txn        Txn
	statements int
	epoch      Revision // the oldest of them
}

// gather makes the next transaction: all statements that fit, and how far this
// rank has read.
func (r *Rank) gather(number uint64) (b batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.view
	own := v.lives[r.name]
	b.txn.If = []Condition{{Key: r.keys.alive(r.config.Rank), Revision: own.registered}}
	segment := make([]byte, 1, 64)
	segment[0] = segmentVersion
	var before statement
	i := 0
	for ; i < len(v.pending) && len(segment) < r.config.Segment-2*maxName; i++ {
		q := v.pending[i]
		q.queued = false
		if q.cohort.lives[q.cohort.own] != own && q.published {
			continue // said under a life that is gone: its fence will say it
		}
		s := statement{q.session, q.cohort.epoch, q.said, !q.published}
		segment = appendStatement(segment, s, before)
		before, q.published = s, true
		b.statements++
		if b.epoch == 0 || s.epoch < b.epoch {
			b.epoch = s.epoch
		}
	}
	v.pending = append(v.pending[:0], v.pending[i:]...)
	clear(v.pending[len(v.pending):cap(v.pending)])
	if b.statements > 0 {
		key := r.keys.segment(r.config.Rank, r.name, number)
		b.txn.If = append(b.txn.If, Condition{Key: key})
		b.txn.Put = append(b.txn.Put, Put{Key: key, Value: segment})
		v.counters.StateWrites++
		v.counters.Written += uint64(b.statements)
	}
	if r.ackDue() {
		r.ackedAt = time.Now()
		b.txn.Put = append(b.txn.Put, Put{Key: r.keys.progress(r.config.Rank), Value: v.progressRecord()})
		v.unacked = 0
		if b.statements == 0 {
			v.counters.AckWrites++
		}
	}
	return b
}

// ackAtOnce is how many segments are read without a word, unless
// Config.AckAfter has passed: telling it is a change that all ranks see.
const ackAtOnce = 64

// ackDue reports whether it is time to tell how far this rank has read. The
// caller holds mu.
func (r *Rank) ackDue() bool {
	n := r.view.unacked
	return n >= ackAtOnce || n > 0 && time.Since(r.ackedAt) >= r.config.AckAfter
}

// commit writes until the store has it for sure, or the incarnation is gone.
func (r *Rank) commit(ctx context.Context, txn Txn) (Revision, error) {
	r.step(BeforeState)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		one, cancel := context.WithTimeout(ctx, r.config.Lease)
		at, err := r.config.Store.Commit(one, txn)
		cancel()
		var unmet *ConditionError
		switch {
		case err == nil:
			r.step(AfterState)
			r.setStatus(Live, nil)
			return at, nil
		case errors.As(err, &unmet) && unmet.Key != txn.If[0].Key:
			return unmet.Have, nil // an earlier attempt had come through
		case errors.As(err, &unmet):
			return 0, err
		}
		r.failed(err)
		if !sleep(ctx, pause) || r.lost() {
			return 0, err
		}
	}
}

func (r *Rank) keep(w written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.segments = append(r.segments, w)
}
