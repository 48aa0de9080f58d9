// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/kvxfer/kvxfer/ownership"
)

// maxFormer is how many lives of a peer that are over are remembered. They are so
// that the Hello of one that is still somewhere does not pass for that of a new life,
// which would end the present one (contract section 8). For evidence nothing has to be
// remembered: it carries a life's whole name, and is stale where no claim has that. A
// life that nothing names any more, and that comes back after this many later ones, is
// taken for a new one.
const maxFormer = 64

// formerLives are the latest ones that are over.
type formerLives []ownership.Incarnation

// add remembers one more; named are those that may not be forgotten.
func (f *formerLives) add(life ownership.Incarnation, named func(ownership.Incarnation) bool) {
	for i := 0; len(*f) >= maxFormer && i < len(*f); {
		if named((*f)[i]) {
			i++
			continue
		}
		*f = slices.Delete(*f, i, i+1)
	}
	*f = append(*f, life)
}

func (f formerLives) has(life ownership.Incarnation) bool { return slices.Contains(f, life) }

// meet returns the record of a peer, for a handshake, which ends with part. A new name
// needs room, which those make of which nothing is left.
func (e *Endpoint) meet(ctx context.Context, name ownership.Accessor) (*peer, error) {
	p := e.greeted(name)
	if p == nil {
		e.dropPeers(ctx)
		p = e.greeted(name)
	}
	if p == nil {
		return nil, &ownership.Error{Kind: ownership.KindCapacity, What: "peer " + string(name), Why: "all " + strconv.Itoa(e.config.Peers) + " peers are in use"}
	}
	return p, nil
}

// greeted returns the record of a peer, a new one if there is none; nil without room.
func (e *Endpoint) greeted(name ownership.Accessor) *peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.peers[name]
	if p == nil {
		if len(e.peers) >= e.config.Peers {
			return nil
		}
		p = &peer{endpoint: e, name: name, wake: newSignal(), attach: make(chan struct{}, 1)}
		e.peers[name] = p
	}
	e.greetings++
	p.greeted = e.greetings
	p.greeting++
	return p
}

func (p *peer) part() {
	p.endpoint.mu.Lock()
	defer p.endpoint.mu.Unlock()
	p.greeting--
}

// dropPeers forgets peers that have left nothing, those first whose handshake is the
// longest ago: an eighth of the table, so that it is not searched for each new name.
// Where there are none, it forgets one whose stream is lost and to whom nothing is
// owed. Should that one come back, its numbers do not fit any more, and it needs
// another life.
func (e *Endpoint) dropPeers(ctx context.Context) {
	list := e.longestAgo()
	room := max(1, e.config.Peers/8)
	for _, old := range list {
		if room > 0 && old.peer.forgettable() && e.drop(old) {
			room--
		}
	}
	if room < max(1, e.config.Peers/8) {
		return
	}
	for _, old := range list {
		if life := old.peer.quiet(); !life.IsZero() && old.peer.retire(life) && old.peer.disconnected(ctx) && e.drop(old) {
			return
		}
	}
}

// met is a peer, as of one handshake.
type met struct {
	peer *peer
	when uint64
}

func (e *Endpoint) longestAgo() []met {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]met, 0, len(e.peers))
	for p := range maps.Values(e.peers) {
		if p.greeting == 0 && e.requests.byPeer[p.name] == 0 {
			list = append(list, met{p, p.greeted})
		}
	}
	slices.SortFunc(list, func(a, b met) int { return cmp.Compare(a.when, b.when) })
	return list
}

// drop forgets a peer that was forgettable, unless a handshake has begun since.
func (e *Endpoint) drop(old met) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := old.peer
	if p.greeting > 0 || p.greeted != old.when || e.peers[p.name] != p {
		return false
	}
	delete(e.peers, p.name)
	return true
}

// named is Registry.Names of the peer.
func (p *peer) named(life ownership.Incarnation) bool { return p.endpoint.registry.Names(p.name, life) }

// forgettable reports whether nothing is left of a peer: it is empty, and no call of the
// backend runs or waits for it.
func (p *peer) forgettable() bool { return p.backend.idle() && p.empty() }

// empty reports whether a peer has no life, the backend has forgotten it, and nothing
// owned, kept or waiting names it.
func (p *peer) empty() bool {
	p.mu.Lock()
	left := !p.life.IsZero() || p.link != nil || p.agent != ""
	p.mu.Unlock()
	return !left && !p.named(ownership.Incarnation{})
}

// quiet returns the life of a peer whose stream is lost and to whom nothing is owed,
// zero where it is not so.
func (p *peer) quiet() ownership.Incarnation {
	p.mu.Lock()
	defer p.mu.Unlock()
	owed := len(p.out.window) + len(p.out.queue) + len(p.out.replies)
	if p.link != nil || owed > 0 || p.named(ownership.Incarnation{}) {
		return ownership.Incarnation{}
	}
	return p.life
}

// disconnected waits until the backend has forgotten a peer whose life has ended, or
// refused, and reports whether it is empty. The call that was waited for may still
// be about to return.
func (p *peer) disconnected(ctx context.Context) bool {
	done := make(chan struct{})
	p.backend.do(func() { close(done) })
	select {
	case <-done:
		return p.empty()
	case <-ctx.Done():
		return false
	}
}
