// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
)

// watchdog judges deadlines when they are due and declares operations overdue.
// It makes no call that can block, so nothing can delay it.
type watchdog struct {
	endpoint *Endpoint
	wake     signal

	mu    sync.Mutex
	waits []*job // guarded by mu; all waits are equally long, so the first is due first
}

func newWatchdog(e *Endpoint) *watchdog { return &watchdog{endpoint: e, wake: newSignal()} }

// watch declares j overdue at due unless it is over by then.
func (w *watchdog) watch(j *job, due time.Duration) {
	w.mu.Lock()
	j.dueAt = due
	w.waits = append(w.waits, j)
	first := len(w.waits) == 1
	w.mu.Unlock()
	if first {
		w.wake.raise()
	}
}

// run works until stop.
func (w *watchdog) run(stop <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(w.judge())
		select {
		case <-timer.C:
		case <-w.wake:
		case <-stop:
			return
		}
	}
}

// judge does what is due and returns the time until something is due again.
func (w *watchdog) judge() time.Duration {
	e := w.endpoint
	now := e.now()
	for _, j := range w.overdue(now) {
		e.note(j.session, "operation "+j.claim.String()+": our wait for it ran out")
		_ = e.offer(j, now, operation.StatusOverdue)
	}
	if deadline, ok := e.registry.NextDeadline(); ok && deadline <= now {
		effects, err := e.registry.Tick(now)
		e.apply(effects)
		if err != nil {
			e.config.Log.Error("tick", "error", err)
		}
	}
	next := time.Hour
	if deadline, ok := e.registry.NextDeadline(); ok {
		next = min(next, deadline-e.now())
	}
	if due, ok := w.next(); ok {
		next = min(next, due-e.now())
	}
	return max(0, next)
}

// overdue takes out the operations whose wait ran out.
func (w *watchdog) overdue(now time.Duration) (list []*job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waits) > 0 {
		j := w.waits[0]
		if !j.over.Load() {
			if j.dueAt > now {
				break
			}
			list = append(list, j)
		}
		w.waits[0] = nil
		w.waits = w.waits[1:]
	}
	return list
}

func (w *watchdog) next() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waits) == 0 {
		return 0, false
	}
	return w.waits[0].dueAt, true
}
