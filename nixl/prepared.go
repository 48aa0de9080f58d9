// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// Prepared is a descriptor list that NIXL has checked and resolved once.
// Requests made from it by index cost a fifth of those built from segments.
type Prepared struct {
	agent   *Agent
	handle  nixlc.Prepared
	lengths []uint64
	peer    *peer           // nil: the local side
	regions []*Registration // our own memory and storage only

	released bool // guarded by agent.book
	users    int  // guarded by agent.book: calls that read the handle now
}

// PrepareConfig describes a list to prepare.
type PrepareConfig struct {
	_ struct{}
	// Peer is whose memory it is; empty: our own, for the local side of
	// requests. The agent's own name prepares the remote side of requests to
	// its own files and storage.
	Peer     string
	Mem      MemType
	Segments []Segment
	Backend  *Backend // nil lets NIXL choose
}

// Prepare has NIXL check and resolve a list of segments.
func (a *Agent) Prepare(cfg PrepareConfig) (*Prepared, error) {
	if len(cfg.Segments) == 0 || !cfg.Mem.IsValid() {
		return nil, fmt.Errorf("%w: %d segments of %v", ErrArgument, len(cfg.Segments), cfg.Mem)
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	p := &Prepared{agent: a}
	var err error
	if cfg.Peer == "" || cfg.Peer == a.name {
		if p.regions, err = a.covering(nil, cfg.Mem, cfg.Segments); err != nil {
			return nil, err
		}
	}
	if cfg.Peer != "" {
		a.book.Lock()
		p.peer, err = a.known(cfg.Peer)
		a.book.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return a.prepare(p, &cfg)
}

// prepare resolves the segments. The caller has entered the agent.
func (a *Agent) prepare(p *Prepared, cfg *PrepareConfig) (*Prepared, error) {
	var backend nixlc.Backend
	if b := cfg.Backend; b != nil {
		if b.agent != a {
			return nil, fmt.Errorf("%w: backend of agent %q", ErrArgument, b.agent.name)
		}
		backend = b.handle
	}
	var code nixlc.Code
	p.handle, code = a.lib.api.PrepXferDlist(a.handle, cfg.Peer, list(cfg.Mem, cfg.Segments), backend)
	if err := check("prep_xfer_dlist", cmp.Or(cfg.Peer, a.name), code); err != nil {
		return nil, err
	}
	a.lists.Add(1)
	p.lengths = make([]uint64, len(cfg.Segments))
	for i, s := range cfg.Segments {
		p.lengths[i] = s.Len
	}
	return p, nil
}

// Release frees the list. Requests that were made from it are not touched.
// Releasing twice is fine.
func (p *Prepared) Release() error {
	a := p.agent
	a.life.RLock()
	defer a.life.RUnlock()
	a.book.Lock()
	if p.released || a.closed {
		p.released = true
		a.book.Unlock()
		return nil
	}
	if p.users != 0 {
		a.book.Unlock()
		return fmt.Errorf("prepared list: %w", ErrInFlight)
	}
	p.released = true
	a.book.Unlock()
	a.lists.Add(-1)
	return check("release_xfer_dlist_handle", a.name, a.lib.api.ReleaseXferDlist(a.handle, p.handle))
}

// MakeConfig describes a transfer between prepared lists: entry i of
// LocalIndex pairs with entry i of RemoteIndex.
type MakeConfig struct {
	_           struct{}
	Op          Op
	Local       *Prepared
	LocalIndex  []int32
	Remote      *Prepared
	RemoteIndex []int32
	Backend     *Backend // nil lets NIXL choose
	Extra
}

// MakeRequest builds a request from prepared lists. Nothing is submitted, and
// after an error nothing ever will be.
func (a *Agent) MakeRequest(cfg MakeConfig) (*Request, error) {
	if err := a.validate(&cfg); err != nil {
		return nil, err
	}
	if err := a.lib.supported(&cfg.Extra); err != nil {
		return nil, err
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	if err := a.use(cfg.Local, cfg.Remote); err != nil {
		return nil, err
	}
	defer a.unuse(cfg.Local, cfg.Remote)
	r := &Request{agent: a, peer: cfg.Remote.peer, regions: slices.Clone(cfg.Local.regions)}
	for _, reg := range cfg.Remote.regions { // our own storage
		if !slices.Contains(r.regions, reg) {
			r.regions = append(r.regions, reg)
		}
	}
	a.book.Lock()
	r.ucx = a.onlyUCX(cfg.Backend)
	a.book.Unlock()
	var backend nixlc.Backend
	if cfg.Backend != nil {
		backend = cfg.Backend.handle
	}
	var code nixlc.Code
	r.handle, code = a.lib.api.MakeRequest(a.handle, &nixlc.MakeSpec{
		Op: cfg.Op.raw(), Extra: cfg.raw(), Backend: backend,
		Local: cfg.Local.handle, LocalIndex: cfg.LocalIndex,
		Remote: cfg.Remote.handle, RemoteIndex: cfg.RemoteIndex,
	})
	if err := check("make_xfer_req", r.peer.name, code); err != nil {
		return nil, err
	}
	a.requests.Add(1)
	r.phase.Store(phaseCreated)
	return r, nil
}

func (a *Agent) validate(cfg *MakeConfig) error {
	switch {
	case cfg.Op != Read && cfg.Op != Write:
		return fmt.Errorf("%w: %v", ErrArgument, cfg.Op)
	case cfg.Local == nil || cfg.Remote == nil || cfg.Local.agent != a || cfg.Remote.agent != a:
		return fmt.Errorf("%w: prepared lists of another agent", ErrArgument)
	case cfg.Local.peer != nil || cfg.Remote.peer == nil:
		return fmt.Errorf("%w: want our memory on the local and a peer's on the remote side", ErrArgument)
	case cfg.Backend != nil && cfg.Backend.agent != a:
		return fmt.Errorf("%w: backend of agent %q", ErrArgument, cfg.Backend.agent.name)
	case len(cfg.LocalIndex) == 0 || len(cfg.LocalIndex) != len(cfg.RemoteIndex):
		return fmt.Errorf("%w: %d local and %d remote indices", ErrArgument, len(cfg.LocalIndex), len(cfg.RemoteIndex))
	}
	for i, l := range cfg.LocalIndex {
		r := cfg.RemoteIndex[i]
		if l < 0 || int(l) >= len(cfg.Local.lengths) || r < 0 || int(r) >= len(cfg.Remote.lengths) {
			return fmt.Errorf("%w: pair %d: index %d or %d is outside of its list", ErrArgument, i, l, r)
		}
		if cfg.Local.lengths[l] != cfg.Remote.lengths[r] {
			return fmt.Errorf("%w: pair %d: local %d and remote %d bytes",
				ErrArgument, i, cfg.Local.lengths[l], cfg.Remote.lengths[r])
		}
	}
	return nil
}

// use keeps lists from being released while NIXL reads them, and refuses
// lists whose memory or peer is gone: their handles point at what NIXL freed.
func (a *Agent) use(lists ...*Prepared) error {
	a.book.Lock()
	defer a.book.Unlock()
	for _, p := range lists {
		if p.released {
			return fmt.Errorf("prepared list: %w", ErrClosed)
		}
		if p.peer != nil && p.peer.gone {
			return fmt.Errorf("peer %q: %w", p.peer.name, ErrUnknownPeer)
		}
		for _, r := range p.regions {
			if r.gone {
				return fmt.Errorf("%v: %w", r, ErrNotRegistered)
			}
		}
	}
	for _, p := range lists {
		p.users++
	}
	return nil
}

func (a *Agent) unuse(lists ...*Prepared) {
	a.book.Lock()
	defer a.book.Unlock()
	for _, p := range lists {
		p.users--
	}
}
