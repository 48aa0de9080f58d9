// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "fmt"

// hold counts the request in what it touches, unless some of that is gone.
func (r *Request) hold() error {
	a := r.agent
	a.book.Lock()
	defer a.book.Unlock()
	if r.peer.gone {
		return fmt.Errorf("peer %q: %w", r.peer.name, ErrUnknownPeer)
	}
	for _, reg := range r.regions {
		if reg.gone {
			return fmt.Errorf("%v: %w", reg, ErrNotRegistered)
		}
	}
	r.count(1)
	return nil
}

func (r *Request) drop() {
	r.agent.book.Lock()
	defer r.agent.book.Unlock()
	r.count(-1)
}

// count adjusts everything the request touches. The caller holds the book.
func (r *Request) count(n int) {
	r.agent.inFlight += n
	r.peer.inFlight += n
	for _, reg := range r.regions {
		reg.inFlight += n
	}
}

// Post submits the request; once more after it was done, when the same
// transfer is wanted again. The error is set when the status is
// StatusNotSubmitted or StatusFailed, and with status zero when the call was
// refused: [ErrInFlight] while it runs, [ErrFailed], [ErrClosed].
func (r *Request) Post() (Status, error) {
	a := r.agent
	if err := a.enter(); err != nil {
		return 0, err
	}
	defer a.life.RUnlock()
	from := r.phase.Load()
	if from != phaseCreated && from != phaseDone || !r.phase.CompareAndSwap(from, phasePosting) {
		return 0, r.refusal()
	}
	if err := r.hold(); err != nil {
		r.phase.Store(from)
		return StatusNotSubmitted, err
	}
	c := callPlugin
	switch {
	case r.posted:
		c = callRepost
	case r.ucx:
		c = callPost
	}
	code := a.lib.api.Post(a.handle, r.handle)
	if statusOf(c, code) == StatusNotSubmitted {
		r.drop()
		r.phase.Store(from)
		return StatusNotSubmitted, r.failure(c, code)
	}
	r.posted = true
	return r.settle(c, code)
}

// settle records what NIXL answered, and ends the exclusive phase.
func (r *Request) settle(c call, code Code) (Status, error) {
	switch statusOf(c, code) {
	case StatusInProgress:
		r.phase.Store(phaseActive)
		return StatusInProgress, nil
	case StatusDone:
		r.drop()
		r.phase.Store(phaseDone)
		return StatusDone, nil
	}
	r.err = r.failure(c, code)
	r.phase.Store(phaseFailed)
	return StatusFailed, r.err
}

// failure is NIXL's answer with the cause behind it, where that can be read.
// The core is asked about a request only that has just answered with an error:
// it then has the code in memory and does no work that could throw.
func (r *Request) failure(c call, code Code) error {
	e := &Error{Call: c.String(), Subject: r.peer.name, Code: code}
	if code == CodeBackend {
		if exact, ok := r.agent.lib.api.ExactStatus(r.agent.handle, r.handle); ok && exact < 0 {
			e.Cause = Cause(exact)
		}
	}
	return e
}

// refusal says why a call does not fit the phase.
func (r *Request) refusal() error {
	switch r.phase.Load() {
	case phaseReleasing, phaseReleased:
		return fmt.Errorf("request to %q: %w", r.peer.name, ErrClosed)
	case phaseFailed:
		return fmt.Errorf("request to %q: %w: %w", r.peer.name, ErrFailed, r.err)
	}
	return fmt.Errorf("request to %q: %w", r.peer.name, ErrInFlight)
}

// Status asks NIXL about this very request. A failed request stays failed
// without being asked again: some versions answer success later, when the
// peer's metadata was reloaded meanwhile.
func (r *Request) Status() (Status, error) {
	a := r.agent
	if err := a.enter(); err != nil {
		return 0, err
	}
	defer a.life.RUnlock()
	if !r.phase.CompareAndSwap(phaseActive, phaseAsking) {
		o := r.last()
		return o.Status, o.Err
	}
	return r.settle(callStatus, a.lib.api.Status(a.handle, r.handle))
}

// last is what is known without asking.
func (r *Request) last() Observation {
	switch r.phase.Load() {
	case phaseCreated:
		return Observation{Err: fmt.Errorf("request to %q: %w", r.peer.name, ErrNotPosted)}
	case phaseDone:
		return Observation{Status: StatusDone}
	case phaseFailed:
		return Observation{Status: StatusFailed, Err: r.err}
	case phaseReleasing, phaseReleased:
		return Observation{Err: r.refusal()}
	}
	return Observation{Status: StatusInProgress}
}

// Release frees the handle. It is refused with [ErrInFlight] while the request
// runs, and with [ErrFailed], which also matches ErrInFlight, after it failed:
// such a request is let go by [Agent.Fence] only. Releasing twice is fine.
func (r *Request) Release() error {
	a := r.agent
	a.life.RLock()
	defer a.life.RUnlock()
	r.looking.Lock() // nobody reads the handle beside its end
	defer r.looking.Unlock()
	from := r.phase.Load()
	switch {
	case from == phaseReleased || a.closed:
		r.phase.Store(phaseReleased) // destroy_agent was the fence; the handle went with it
		return nil
	case from == phaseFailed:
		return fmt.Errorf("%w: %w", ErrInFlight, r.refusal())
	case from != phaseCreated && from != phaseDone, !r.phase.CompareAndSwap(from, phaseReleasing):
		return r.refusal()
	}
	code := a.lib.api.ReleaseRequest(a.handle, r.handle)
	if err := check("release_xfer_req", r.peer.name, code); err != nil {
		r.phase.Store(from)
		return err
	}
	r.phase.Store(phaseReleased)
	a.requests.Add(-1)
	return check("destroy_xfer_req", r.peer.name, a.lib.api.DestroyRequest(r.handle))
}
