// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// View is memory as code on a device sees it: a table of ranges that a kernel
// reads and writes by index, without a request and without asking anybody.
// Nothing here can know when such code has ended, so whoever releases a view
// promises that no kernel uses it any more. Until then its registrations and
// its peers are held.
type View struct {
	agent   *Agent
	handle  nixlc.View
	regions []*Registration
	peers   []*peer

	released bool // guarded by agent.book
}

// RemoteSegment is a segment of one peer's memory.
type RemoteSegment struct {
	Peer string
	Segment
}

// ViewLocal makes a view of our own registered memory. It needs NIXL 1.5 and a
// plugin built for a GPU; without one NIXL answers with an error.
func (a *Agent) ViewLocal(mem MemType, segments []Segment, b *Backend) (*View, error) {
	v := &View{agent: a}
	var err error
	if v.regions, err = a.covering(nil, mem, segments); err != nil {
		return nil, err
	}
	return v.prepare("prep_mem_view_local", mem, segments, nil, b)
}

// ViewRemote makes a view of memory of one or many peers; see [Agent.ViewLocal].
func (a *Agent) ViewRemote(mem MemType, segments []RemoteSegment, b *Backend) (*View, error) {
	v := &View{agent: a}
	plain, names := make([]Segment, len(segments)), make([]string, len(segments))
	for i, s := range segments {
		plain[i], names[i] = s.Segment, s.Peer
	}
	return v.prepare("prep_mem_view_remote", mem, plain, names, b)
}

func (v *View) prepare(call string, mem MemType, segments []Segment, names []string, b *Backend) (*View, error) {
	a := v.agent
	var backend nixlc.Backend
	switch {
	case len(segments) == 0 || !mem.IsValid():
		return nil, fmt.Errorf("%w: %d segments of %v", ErrArgument, len(segments), mem)
	case b != nil && b.agent != a:
		return nil, fmt.Errorf("%w: backend of agent %q", ErrArgument, b.agent.name)
	case b != nil:
		backend = b.handle
	}
	if err := a.lib.needs(call); err != nil {
		return nil, err
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	if err := v.hold(names); err != nil {
		return nil, err
	}
	var code Code
	v.handle, code = a.lib.api.PrepView(a.handle, list(mem, segments), names, backend)
	if err := check(call, a.name, code); err != nil {
		v.drop()
		return nil, err
	}
	return v, nil
}

// hold counts the view in what it reaches, unless some of that is gone.
func (v *View) hold(names []string) error {
	a := v.agent
	a.book.Lock()
	defer a.book.Unlock()
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			continue
		}
		seen[n] = true
		p, err := a.known(n)
		if err != nil {
			return err
		}
		v.peers = append(v.peers, p)
	}
	for _, r := range v.regions {
		if r.gone {
			return fmt.Errorf("%v: %w", r, ErrNotRegistered)
		}
	}
	v.count(1)
	return nil
}

func (v *View) drop() {
	v.agent.book.Lock()
	defer v.agent.book.Unlock()
	v.released = true
	v.count(-1)
}

// count adjusts what the view reaches. The caller holds the book.
func (v *View) count(n int) {
	v.agent.views += n
	for _, p := range v.peers {
		p.views += n
	}
	for _, r := range v.regions {
		r.views += n
	}
}

// Handle is what a kernel is given.
func (v *View) Handle() uintptr { return uintptr(v.handle) }

// Release ends the view: the caller's word that no kernel uses it any more.
// Releasing twice is fine.
func (v *View) Release() error {
	a := v.agent
	a.life.RLock()
	defer a.life.RUnlock()
	a.book.Lock()
	done := v.released || a.closed
	v.released = true
	a.book.Unlock()
	if done {
		return nil
	}
	if err := check("release_mem_view", a.name, a.lib.api.ReleaseView(a.handle, v.handle)); err != nil {
		a.book.Lock()
		defer a.book.Unlock()
		v.released = false
		return err
	}
	v.drop()
	return nil
}
