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
	a.requests.Add(1)
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
