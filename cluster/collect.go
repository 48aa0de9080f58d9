// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// collectAtOnce is how many segments that nobody needs are deleted without
// waiting for Config.AckAfter.
const collectAtOnce = 64

// needed reports whether some process that may still have to learn of a segment
// has not read it: one whose incarnation is, or was, in the cohort of a request
// in it, and has not been fenced. A rank's own reading is not asked for: it
// wrote it. The caller holds mu.
func (r *Rank) needed(w written) bool {
	for _, lives := range r.view.byRank {
		for _, l := range lives {
			member := l.replaced == 0 || l.replaced > w.epoch
			if member && !l.fenced && !l.own && l.read < w.at {
				return true
			}
		}
	}
	return false
}

// collectable returns how many of the oldest segments nobody needs. The caller
// holds mu.
func (r *Rank) collectable() int {
	if r.view.applied == 0 || r.collecting {
		return 0
	}
	n := 0
	for n < len(r.segments) && !r.needed(r.segments[n]) && r.segments[n].at <= r.view.applied {
		n++
	}
	return n
}

// collectDue reports whether it is time to delete segments. The caller holds mu.
func (r *Rank) collectDue() bool {
	n := r.collectable()
	return n >= collectAtOnce || n > 0 && time.Since(r.collected) >= r.config.AckAfter
}

// collect deletes what nobody needs in one write, if it is time to. Statements do not
// wait for it: a request waits for the slowest rank, and of eight one would often be
// busy with deleting. running ends with it.
func (r *Rank) collect(ctx context.Context, running *sync.WaitGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.collectDue() {
		return
	}
	ranges, n := rangesOf(r.segments[:r.collectable()])
	r.collected, r.collecting = time.Now(), true
	running.Go(func() {
		deleted := r.deleteRanges(ctx, ranges)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.collecting = false
		if deleted {
			r.view.counters.Deletions++
			r.segments = append(r.segments[:0], r.segments[n:]...)
		}
		r.wake() // there may be more
	})
}

// deleteRanges reports whether it could. An error is none: the next one deletes it too.
func (r *Rank) deleteRanges(ctx context.Context, ranges []Range) bool {
	r.step(BeforeCollect)
	one, cancel := context.WithTimeout(ctx, r.config.Lease)
	defer cancel()
	if _, err := r.config.Store.Commit(one, Txn{Delete: ranges}); err != nil {
		return false
	}
	r.step(AfterCollect)
	return true
}

// maxRanges bounds the operations of one transaction; etcd takes 128.
const maxRanges = 64

// rangesOf is one range for the segments of each incarnation, as they stand in order,
// and how many segments are in the ranges.
func rangesOf(list []written) (ranges []Range, n int) {
	lifeOf := func(key string) string { return key[:len(key)-17] }
	for i, w := range list {
		if i > 0 && lifeOf(w.key) == lifeOf(list[i-1].key) && w.key > list[i-1].key {
			ranges[len(ranges)-1].To = w.key + "\x00"
			continue
		}
		if len(ranges) == maxRanges {
			return ranges, i
		}
		ranges = append(ranges, Range{w.key, w.key + "\x00"})
	}
	return ranges, len(list)
}

// adopt takes over the segments of earlier processes of this rank, which nobody
// else would delete.
func (r *Rank) adopt(entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.segments) > 0 || r.adopted {
		return
	}
	r.adopted = true
	for _, e := range entries {
		n, err := r.keys.parse(e.Key)
		if err == nil && n.kind == 's' && n.rank == r.config.Rank && !r.view.ownNames[n.life] {
			r.segments = append(r.segments, written{key: e.Key, at: e.Revision})
		}
	}
}

// progressRecord says how far this process has read, in all its lives.
func (v *view) progressRecord() []byte {
	b := strconv.AppendInt(nil, int64(v.applied), 10)
	for name := range v.ownNames {
		if l := v.lives[name]; l != nil && !l.fenced {
			b = append(b, ' ')
			b = append(b, name.String()...)
		}
	}
	return b
}

func (v *view) progressed(e Event) error {
	if e.Deleted {
		return nil
	}
	fields := bytes.Fields(e.Value)
	if len(fields) == 0 {
		return fmt.Errorf("cluster: progress is empty: %w", ErrRecord)
	}
	at, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return fmt.Errorf("cluster: progress %q: %w", e.Value, ErrRecord)
	}
	for _, f := range fields[1:] {
		name, err := ownership.ParseIncarnation(string(f))
		if err != nil {
			return err
		}
		if l := v.lives[name]; l != nil {
			l.read = max(l.read, Revision(at))
		}
	}
	return nil
}
