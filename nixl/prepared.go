// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"cmp"
	"fmt"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// Prepared is a descriptor list that NIXL has checked and resolved once.
// Requests made from it by index cost a fifth of those built from segments.
type Prepared struct {
	agent   *Agent
	handle  nixlc.Prepared
	lengths []uint64
	peer    *peer           // nil: our own memory
	regions []*Registration // our own memory only

	released bool // guarded by agent.book
	users    int  // guarded by agent.book: calls that read the handle now
}

// PrepareLocal prepares segments of our own registered memory.
func (a *Agent) PrepareLocal(segments []Segment, b *Backend) (*Prepared, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	regions, err := a.covering(segments)
	if err != nil {
		return nil, err
	}
	return a.prepare(&Prepared{agent: a, regions: regions}, segments, b)
}

// PrepareRemote prepares segments of a peer's memory.
func (a *Agent) PrepareRemote(name string, segments []Segment, b *Backend) (*Prepared, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	a.book.Lock()
	p := a.peers[name]
	known := p != nil && !p.gone
	a.book.Unlock()
	if !known {
		return nil, fmt.Errorf("peer %q: %w", name, ErrUnknownPeer)
	}
	return a.prepare(&Prepared{agent: a, peer: p}, segments, b)
}

// prepare resolves the segments. The caller has entered the agent.
func (a *Agent) prepare(p *Prepared, segments []Segment, b *Backend) (*Prepared, error) {
	if len(segments) == 0 {
		return nil, fmt.Errorf("%w: no segments", ErrArgument)
	}
	var backend nixlc.Backend
	if b != nil {
		backend = b.handle
	}
	remote := ""
	if p.peer != nil {
		remote = p.peer.name
	}
	var code nixlc.Code
	p.handle, code = a.lib.api.PrepXferDlist(a.handle, remote, dram(segments), backend)
	if err := check("prep_xfer_dlist", cmp.Or(remote, a.name), code); err != nil {
		return nil, err
	}
	p.lengths = make([]uint64, len(segments))
	for i, s := range segments {
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
	Notify      []byte
}

// MakeRequest builds a request from prepared lists. Nothing is submitted, and
// after an error nothing ever will be.
func (a *Agent) MakeRequest(cfg MakeConfig) (*Request, error) {
	if err := a.validate(&cfg); err != nil {
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
	r := &Request{agent: a, peer: cfg.Remote.peer, regions: cfg.Local.regions}
	a.book.Lock()
	r.ucx = a.onlyUCX(nil)
	a.book.Unlock()
	var code nixlc.Code
	r.handle, code = a.lib.api.MakeRequest(a.handle, &nixlc.MakeSpec{
		Op: cfg.Op.raw(), Notify: cfg.Notify,
		Local: cfg.Local.handle, LocalIndex: cfg.LocalIndex,
		Remote: cfg.Remote.handle, RemoteIndex: cfg.RemoteIndex,
	})
	if err := check("make_xfer_req", r.peer.name, code); err != nil {
		return nil, err
	}
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
				return fmt.Errorf("registration %#x+%d: %w", r.segment.Addr, r.segment.Len, ErrNotRegistered)
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
