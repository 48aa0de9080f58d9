// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// RequestConfig describes one transfer: segment i of Local pairs with segment
// i of Remote, of the same length. Local segments lie in registered memory. So
// do the remote ones when Peer is the agent's own name, which is how files and
// other storage are reached.
type RequestConfig struct {
	_         struct{}
	Op        Op
	Peer      string
	LocalMem  MemType
	Local     []Segment
	RemoteMem MemType
	Remote    []Segment
	// Backend moves the bytes; nil lets NIXL choose.
	Backend *Backend
	Extra
}

// Extra is what a request can carry besides its segments.
type Extra struct {
	// Notify, when not empty, reaches the peer after the data is in place.
	Notify []byte
	// Custom is for the plugin to understand; NIXL 1.5 and newer.
	Custom []byte
	// SkipMerge tells NIXL not to look for neighbours to merge.
	SkipMerge bool
}

func (e *Extra) raw() nixlc.Extra { return nixlc.Extra(*e) }

// supported says which symbol the library lacks for these extras.
func (l *Library) supported(e *Extra) error {
	if len(e.Custom) != 0 {
		if err := l.needs("opt_args_set_custom_param"); err != nil {
			return err
		}
	}
	if e.SkipMerge {
		return l.needs("opt_args_set_skip_desc_merge")
	}
	return nil
}

// phase is where a request stands. Every call into NIXL with its handle
// belongs to one exclusive phase, so no call meets a freed handle.
type phase = uint32

const (
	_              phase = iota
	phaseCreated         // never posted, or refused before anything was queued
	phasePosting         // inside post_xfer_req
	phaseActive          // posted and not ended
	phaseAsking          // inside get_xfer_status
	phaseDone            // ended on proof
	phaseFailed          // answered with an error; for good
	phaseReleasing       // inside release_xfer_req
	phaseReleased
)

// Request is one transfer. It is retained until [Request.Release]: dropping
// the last reference to it releases nothing.
type Request struct {
	// What a poll needs comes first, in one line of the cache.
	agent  *Agent
	handle nixlc.Request
	phase  atomic.Uint32
	posted bool // ever accepted by NIXL; written in phasePosting only
	ucx    bool

	peer    *peer
	regions []*Registration
	err     error // set before phaseFailed, never after
	// looking is held for reading by calls that only look at the handle.
	looking sync.RWMutex
}

// NewRequest builds a request. Nothing is submitted, and after an error
// nothing ever will be.
func (a *Agent) NewRequest(cfg RequestConfig) (*Request, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	if err := a.lib.supported(&cfg.Extra); err != nil {
		return nil, err
	}
	r := &Request{agent: a}
	if err := r.bind(&cfg); err != nil {
		return nil, err
	}
	spec := nixlc.RequestSpec{
		Op: cfg.Op.raw(), Peer: cfg.Peer, Extra: cfg.raw(),
		Local: list(cfg.LocalMem, cfg.Local), Remote: list(cfg.RemoteMem, cfg.Remote),
	}
	if cfg.Backend != nil {
		spec.Backend = cfg.Backend.handle
	}
	var code nixlc.Code
	r.handle, code = a.lib.api.CreateRequest(a.handle, &spec)
	if err := check("create_xfer_req", cfg.Peer, code); err != nil {
		return nil, err
	}
	r.phase.Store(phaseCreated)
	return r, nil
}

func (o Op) raw() nixlc.Op {
	if o == Read {
		return nixlc.OpRead
	}
	return nixlc.OpWrite
}

func (cfg *RequestConfig) validate() error {
	if cfg.Op != Read && cfg.Op != Write {
		return fmt.Errorf("%w: %v", ErrArgument, cfg.Op)
	}
	if !cfg.LocalMem.IsValid() || !cfg.RemoteMem.IsValid() {
		return fmt.Errorf("%w: %v and %v", ErrArgument, cfg.LocalMem, cfg.RemoteMem)
	}
	if len(cfg.Local) == 0 || len(cfg.Local) != len(cfg.Remote) {
		return fmt.Errorf("%w: %d local and %d remote segments", ErrArgument, len(cfg.Local), len(cfg.Remote))
	}
	for i, l := range cfg.Local {
		if l.Len == 0 || l.Len != cfg.Remote[i].Len {
			return fmt.Errorf("%w: segment %d: local %d and remote %d bytes", ErrArgument, i, l.Len, cfg.Remote[i].Len)
		}
	}
	return nil
}

// bind finds who the request touches: the peer and our registrations.
func (r *Request) bind(cfg *RequestConfig) error {
	a := r.agent
	if b := cfg.Backend; b != nil && b.agent != a {
		return fmt.Errorf("%w: backend of agent %q", ErrArgument, b.agent.name)
	}
	var err error
	if r.regions, err = a.covering(nil, cfg.LocalMem, cfg.Local); err != nil {
		return err
	}
	if cfg.Peer == a.name {
		if r.regions, err = a.covering(r.regions, cfg.RemoteMem, cfg.Remote); err != nil {
			return err
		}
	}
	a.book.Lock()
	defer a.book.Unlock()
	if r.peer, err = a.known(cfg.Peer); err != nil {
		return err
	}
	r.ucx = a.onlyUCX(cfg.Backend)
	return nil
}

// onlyUCX reports whether nothing but UCX can serve a request for b. The
// caller holds the book.
func (a *Agent) onlyUCX(b *Backend) bool {
	if b == nil {
		if len(a.backends) != 1 {
			return false
		}
		b = a.backends[0]
	}
	return b.plugin == PluginUCX
}

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
	return check("destroy_xfer_req", r.peer.name, a.lib.api.DestroyRequest(r.handle))
}
