// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// peer is one loaded generation of a remote agent's metadata.
type peer struct {
	name string
	// Guarded by the agent's book.
	inFlight int  // requests towards it that have not ended on proof
	views    int  // views that reach its memory
	gone     bool // invalidated, or being so
}

// known finds a peer that can be posted to; the agent itself is one. The
// caller holds the book.
func (a *Agent) known(name string) (*peer, error) {
	if name == a.name {
		return a.self, nil
	}
	if p := a.peers[name]; p != nil && !p.gone {
		return p, nil
	}
	return nil, fmt.Errorf("peer %q: %w", name, ErrUnknownPeer)
}

// Metadata returns what a peer needs to reach the memory registered now, in an
// envelope that [Agent.LoadMetadata] checks. It may travel over any network.
func (a *Agent) Metadata() ([]byte, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	md, code := a.lib.api.LocalMD(a.handle)
	if err := check("get_local_md", a.name, code); err != nil {
		return nil, err
	}
	return seal(a.name, md)
}

// LoadMetadata loads a peer's metadata and returns the peer's name. When want
// is not empty the metadata must be that peer's. Bytes that are not an intact
// envelope are refused with an error that matches [ErrMetadata] before NIXL
// sees any of them. Newer metadata of the same running peer may be loaded over
// the old; that of a restarted peer only after [Agent.Invalidate].
func (a *Agent) LoadMetadata(envelope []byte, want string) (string, error) {
	name, md, err := unseal(envelope)
	if err != nil {
		return "", err
	}
	if want != "" && name != want {
		return "", fmt.Errorf("%w: %q, want %q", ErrMetadataPeer, name, want)
	}
	if err := a.enter(); err != nil {
		return "", err
	}
	defer a.life.RUnlock()
	loaded, code := a.lib.api.LoadRemoteMD(a.handle, md)
	if err := check("load_remote_md", name, code); err != nil {
		return "", err
	}
	if loaded != name {
		a.lib.api.InvalidateRemoteMD(a.handle, loaded)
		return "", fmt.Errorf("%w: envelope says %q, NIXL says %q", ErrMetadataPeer, name, loaded)
	}
	a.meet(name)
	return name, nil
}

// meet enters a peer whose metadata is loaded.
func (a *Agent) meet(name string) {
	a.book.Lock()
	defer a.book.Unlock()
	if p := a.peers[name]; p == nil || p.gone {
		a.peers[name] = &peer{name: name}
	}
}

// PartialMetadata is [Agent.Metadata] of some registrations only, all of one
// kind; of none it holds the way to this agent and no memory. A peer needs the
// way first. The same envelope is around it.
func (a *Agent) PartialMetadata(regs []*Registration) ([]byte, error) {
	l, err := a.listOf(regs)
	if err != nil {
		return nil, err
	}
	if err := a.lib.needs("get_local_partial_md"); err != nil {
		return nil, err
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	md, code := a.lib.api.LocalPartialMD(a.handle, l, 0)
	if err := check("get_local_partial_md", a.name, code); err != nil {
		return nil, err
	}
	return seal(a.name, md)
}

// listOf is the list of what is registered.
func (a *Agent) listOf(regs []*Registration) (l nixlc.List, err error) {
	segments := make([]Segment, len(regs))
	mem := DRAM
	for i, r := range regs {
		if r == nil || r.agent != a || i > 0 && r.mem != mem {
			return l, fmt.Errorf("%w: registration %d is another agent's or of another kind", ErrArgument, i)
		}
		mem, segments[i] = r.mem, r.segment
	}
	return list(mem, segments), nil
}

// Knows reports whether the peer's metadata is loaded. It says nothing of the
// peer being alive: NIXL keeps the metadata of the dead.
func (a *Agent) Knows(name string) bool {
	a.book.Lock()
	defer a.book.Unlock()
	_, err := a.known(name)
	return err == nil
}

// Connect starts the connection to a peer whose metadata is loaded. It is
// optional, and returns before the connection is there: the first transfer
// completes it.
func (a *Agent) Connect(name string) error {
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	return check("agent_make_connection", name, a.lib.api.MakeConnection(a.handle, name))
}

// Invalidate forgets a peer; [ErrInFlight] while a request towards it has not
// ended on proof, because NIXL would forget the peer and go on with the
// transfer. Requests that were built before can no longer be posted.
func (a *Agent) Invalidate(name string) error {
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	p, err := a.leave(name)
	if err != nil {
		return err
	}
	if err := check("invalidate_remote_md", name, a.lib.api.InvalidateRemoteMD(a.handle, name)); err != nil {
		a.book.Lock()
		defer a.book.Unlock()
		p.gone = false
		return err
	}
	a.book.Lock()
	defer a.book.Unlock()
	if a.peers[name] == p {
		delete(a.peers, name)
	}
	return nil
}

// leave marks a peer as going, so that nothing is posted towards it any more.
func (a *Agent) leave(name string) (*peer, error) {
	a.book.Lock()
	defer a.book.Unlock()
	p := a.peers[name]
	switch {
	case p == nil || p.gone:
		return nil, fmt.Errorf("peer %q: %w", name, ErrUnknownPeer)
	case p.inFlight != 0 || p.views != 0:
		return nil, fmt.Errorf("peer %q: %d requests, %d views: %w", name, p.inFlight, p.views, ErrInFlight)
	}
	p.gone = true
	return p, nil
}
