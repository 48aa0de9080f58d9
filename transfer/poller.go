// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/backend"
)

// poller asks the backend for all retained operations in one call a pass, and
// lets a passive backend work while a peer may reach our memory. While there is
// neither it waits on a channel and costs nothing.
type poller struct {
	endpoint *Endpoint
	wake     signal
	progress bool         // the backend's Limits.PassiveProgress; of the run goroutine, or of who holds it
	passive  atomic.Int64 // live claims on our memory of receive sessions
	pause    atomic.Pointer[held]
	ended    chan struct{} // closed when run is over

	mu    sync.Mutex
	added []*job // guarded by mu; since the last pass

	// Of the run goroutine only; kept between passes, so that one that changes
	// nothing allocates nothing.
	jobs    []*job // operations, which the backend is asked about in one call
	locals  []*job // copies, each of which is asked
	handles []backend.Operation
	seen    []backend.Observation
}

func newPoller(e *Endpoint) *poller {
	return &poller{endpoint: e, wake: newSignal(), ended: make(chan struct{}), progress: e.backend().Limits().PassiveProgress}
}

// held is a pause that somebody asks for.
type held struct{ begun, over chan struct{} }

// hold stops the poller between two passes, so that it is in no call of the backend,
// until release.
func (p *poller) hold(ctx context.Context) (release func(), err error) {
	h := &held{make(chan struct{}), make(chan struct{})}
	p.pause.Store(h)
	p.wake.raise()
	select {
	case <-h.begun:
		return func() { close(h.over) }, nil
	case <-p.ended:
		return func() {}, nil
	case <-ctx.Done():
		close(h.over) // in case it begins after all
		p.pause.CompareAndSwap(h, nil)
		return nil, ctx.Err()
	}
}

// paused waits where somebody holds the poller; false means stop.
func (p *poller) paused(stop <-chan struct{}) bool {
	if h := p.pause.Swap(nil); h != nil {
		close(h.begun)
		select {
		case <-h.over:
		case <-stop:
			return false
		}
	}
	return true
}

// drop lets go of all operations without another word to their handles: their agent
// is gone. The poller is held.
func (p *poller) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range append(p.jobs, p.added...) {
		if j.local == nil {
			j.over.Store(true)
		}
	}
	gone := func(j *job) bool { return j.local == nil }
	p.jobs, p.added = nil, slices.DeleteFunc(p.added, gone)
}

// add retains an operation until an answer ends it.
func (p *poller) add(j *job) {
	p.mu.Lock()
	p.added = append(p.added, j)
	p.mu.Unlock()
	p.wake.raise()
}

// exposed counts the peers that may be at work on our memory.
func (p *poller) exposed(change int64) {
	if change != 0 && p.passive.Add(change) == change {
		p.wake.raise()
	}
}

// run polls until stop.
func (p *poller) run(stop <-chan struct{}) {
	defer close(p.ended)
	idle := backoff{naps: p.progress}
	idle.reset() // there may be work before the first pass
	defer idle.end()
	for {
		if !p.paused(stop) {
			return
		}
		if p.collect() {
			idle.reset()
		}
		progress := (p.progress || p.endpoint.config.Notify) && p.passive.Load() > 0
		if len(p.jobs)+len(p.locals) == 0 && !progress {
			idle.reset()
			select {
			case <-p.wake:
				continue
			case <-stop:
				return
			}
		}
		begin := p.endpoint.now()
		news := len(p.jobs) > 0 && p.poll()
		news = p.pollLocals() || news
		if progress {
			news = p.work() || news
		}
		if news || p.endpoint.now()-begin >= busyCall+time.Duration(len(p.jobs))*busyHandle {
			idle.reset()
		}
		if !idle.wait(p.wake, stop) {
			return
		}
	}
}

// collect takes in what was added, drops what is over, and reports whether
// there was anything new.
func (p *poller) collect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := len(p.added) > 0
	for _, j := range p.added {
		if j.local != nil {
			p.locals = append(p.locals, j)
		} else {
			p.jobs = append(p.jobs, j)
		}
	}
	over := func(j *job) bool { return j.over.Load() }
	p.jobs, p.locals = slices.DeleteFunc(p.jobs, over), slices.DeleteFunc(p.locals, over)
	clear(p.added)
	p.added = p.added[:0]
	return news
}

// poll asks once for all. Each answer has the time at which it was there.
func (p *poller) poll() (news bool) {
	n := len(p.jobs)
	p.handles = p.handles[:0]
	for _, j := range p.jobs {
		p.handles = append(p.handles, j.handle)
	}
	p.seen = slices.Grow(p.seen[:0], n)[:n]
	clear(p.seen)
	p.endpoint.backend().Poll(p.handles, p.seen)
	at := p.endpoint.now()
	for i, j := range p.jobs {
		if !j.over.Load() {
			news = p.endpoint.seen(j, at, p.seen[i]) || news
		}
	}
	clear(p.handles)
	return news
}

// pollLocals asks each local copy.
func (p *poller) pollLocals() (news bool) {
	for _, j := range p.locals {
		if !j.over.Load() {
			seen := j.local.Poll()
			news = p.endpoint.seen(j, p.endpoint.now(), seen) || news
		}
	}
	return news
}

// work lets the backend move what peers send us, and takes in what it was notified of.
func (p *poller) work() (news bool) {
	notifications, err := p.endpoint.backend().Progress()
	if err != nil {
		p.endpoint.counts.progressErrors.Add(1)
	}
	at := p.endpoint.now()
	for _, n := range notifications {
		p.endpoint.notified(at, n)
	}
	return len(notifications) > 0
}
