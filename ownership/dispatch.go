// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import "time"

// call runs one call that carries no evidence: first what has arrived, then the
// deadlines up to at, then fn.
func (r *Registry) call(at time.Duration, fn func(*core) error) (Effects, error) {
	r.mu.Lock()
	if r.inbox.some.Load() { // nearly never: worth no lock of its own
		r.takeIn(at)
	}
	r.core.begin(at)
	err := fn(&r.core)
	return r.finishCall(r.core.end(err))
}

// evidence runs one call that carries evidence. If the lock is free it is
// applied at once; otherwise it waits in the inbox, where whoever holds the
// lock next finds it under its own time.
func (r *Registry) evidence(e *evidence) (Effects, error) {
	if r.mu.TryLock() {
		if r.inbox.some.Load() {
			r.takeIn(e.at)
		}
		return r.finishCall(r.core.apply(e))
	}
	a := &arrival{evidence: *e}
	r.inbox.put(a)
	r.mu.Lock()
	if !a.done {
		r.takeIn(e.at)
	}
	return r.finishCall(a.effects, a.err)
}

// takeIn applies what arrived up to at, in the order of its times; what arrived
// later waits for its own turn. The caller holds mu.
func (r *Registry) takeIn(at time.Duration) {
	for _, a := range r.inbox.take() {
		if a.at > at {
			r.inbox.put(a)
			continue
		}
		a.effects, a.err = r.core.apply(&a.evidence)
		a.done = true
	}
}

// finishCall unlocks, and calls the containment function if this call latched
// FATAL: outside of the lock, once in the registry's life.
func (r *Registry) finishCall(effects Effects, err error) (Effects, error) {
	c := r.core.takeContainment()
	r.mu.Unlock()
	if c != nil {
		cerr := r.contain(*c)
		r.mu.Lock()
		r.core.containErr = cerr
		r.mu.Unlock()
	}
	return effects, err
}
