// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"sync"
	"time"
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

// run works until stop. While nothing is due ever, no timer runs.
func (w *watchdog) run(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		if next, any := w.judge(); any {
			timer.Reset(next)
		}
		select {
		case <-timer.C:
		case <-w.wake:
		case <-stop:
			return
		}
	}
}

// judge does what is due, and returns the time until something is due again,
// if anything ever is.
func (w *watchdog) judge() (next time.Duration, any bool) {
	e := w.endpoint
	now := e.now()
	for _, j := range w.overdue(now) {
		e.ranOut(j, now)
	}
	deadline, clocks := e.registry.NextDeadline()
	if clocks && deadline <= now {
		w.tick(now)
		deadline, clocks = e.registry.NextDeadline()
	}
	due, waits := w.next()
	switch {
	case clocks && waits:
		due = min(due, deadline)
	case clocks:
		due = deadline
	}
	return max(0, due-e.now()), clocks || waits
}

// tick judges the deadlines. A containment that takes long goes on without the
// watchdog: all deadlines are judged when it begins.
func (w *watchdog) tick(now time.Duration) {
	e := w.endpoint
	done := make(chan struct{})
	go func() {
		defer close(done)
		effects, err := e.registry.Tick(now)
		e.apply(effects)
		if err != nil {
			e.config.Log.Error("tick", "error", err)
		}
	}()
	select {
	case <-done:
	case <-e.fatal:
	}
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
