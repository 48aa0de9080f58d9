// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// ourProcess is the process that this is, zero where that cannot be said.
var ourProcess = sync.OnceValue(func() wire.Process {
	p, err := fence.Find(os.Getpid())
	if err != nil {
		return wire.Process{}
	}
	return wire.Process{PID: uint32(p.PID), Started: p.Started, Boot: p.Boot, Namespace: p.Namespace}
})

// identity is the process that a life of a peer is in, or why that is not known.
type identity struct {
	life    ownership.Incarnation
	process fence.Process
	err     error
}

// gone is evidence that the process has ended.
func (i *identity) gone() (fence.Exited, error) {
	if i.err != nil {
		return fence.Exited{}, i.err
	}
	return i.process.Gone()
}

// identify finds out which process is at the other end. It takes three words that agree:
// the peer's, which says where it takes itself to live; the kernel's, which recorded
// who connected; and the process table's, which says when that one started. The peer
// lives while it says so, so that no number can have been used again in between.
func identify(stream Stream, said wire.Process) (fence.Process, error) {
	none := fence.Process{}
	kernel, ok := stream.(ProcessStream)
	pid, local := 0, false
	if ok {
		pid, local = kernel.PeerProcess()
	}
	if !local {
		return none, errors.New("its stream does not say whose process it is: only a Unix socket does")
	}
	if said == (wire.Process{}) {
		return none, errors.New("it did not say which process it is")
	}
	p := fence.Process{PID: int(said.PID), Started: said.Started, Boot: said.Boot, Namespace: said.Namespace}
	ours := ourProcess()
	if said.Boot != ours.Boot || said.Namespace != ours.Namespace {
		return none, fmt.Errorf("%v: %w", p, fence.ErrElsewhere)
	}
	if pid != p.PID {
		return none, fmt.Errorf("it says that it is process %d, but its socket is of process %d", p.PID, pid)
	}
	found, err := fence.Find(pid)
	if err != nil {
		return none, err
	}
	if found != p {
		return none, fmt.Errorf("it says that it is %v, but there is %v", p, found)
	}
	return p, nil
}

// identify remembers in which process a life is. What was known once stays known,
// whatever stream comes later; two that are known and differ are none.
func (p *peer) identify(life ownership.Incarnation, stream Stream, said wire.Process) {
	process, err := identify(stream, said)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.processes {
		known := &p.processes[i]
		switch {
		case known.life != life:
			continue
		case known.err != nil && known.process == (fence.Process{}):
			known.process, known.err = process, err
		case err == nil && process != known.process:
			known.err = fmt.Errorf("it was in %v and in %v", known.process, process)
		}
		return
	}
	p.processes = append(p.processes, identity{life, process, err})
}

func (p *peer) identities() []identity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.processes)
}

// FenceGone looks whether a peer's process has ended, and fences what that proves: on a
// transport where the peer's own system calls copy (CMA), the memory that it reached by
// itself. It returns what was fenced, for each life of the peer in which something was
// held.
//
// It is proof only where all of this is so, and the error says which is not: the peer's
// process is known, because its stream is a Unix socket (transfer/rpc) whose other end
// the kernel names as the process that the Hello named; that process is of this host,
// of this boot, and of our own process namespace; it has ended, which a process that
// got its number later does not hide; and nothing but the process itself could reach the
// memory (fence.ErrNotProven otherwise, as on TCP, where a dead process's bytes wait in
// a socket). A life about which nothing is held takes no proof, and gives no error.
func (e *Endpoint) FenceGone(peer string) ([]Fenced, error) {
	what := "peer " + peer
	p := e.lookup(ownership.Accessor(peer))
	if p == nil || peer == string(ownership.Local) {
		return nil, &Error{What: what, Kind: ErrNoPeer, Err: errors.New("nor ever was")}
	}
	var done []Fenced
	var refused error
	for _, known := range p.identities() {
		if !e.holds(p.name, known.life) {
			continue
		}
		f, err := e.fenceGone(p, known)
		if err != nil {
			refused = errors.Join(refused, &Error{What: what + " incarnation " + known.life.String(), Kind: fence.ErrNotProven, Err: err})
			continue
		}
		done = append(done, f)
	}
	return done, refused
}

// fenceGone does it for one life. The life is over before the fence, so that no memory is
// exposed to it after.
func (e *Endpoint) fenceGone(p *peer, known identity) (Fenced, error) {
	exited, err := known.gone()
	if err != nil {
		return Fenced{}, err
	}
	v, err := fence.Judge(e.fenceCase(p.name), exited)
	if err != nil {
		return Fenced{}, err
	}
	if !v.Passive.Proven {
		return Fenced{}, errors.New(v.String())
	}
	spec := ownership.FenceSpec{Accessor: p.name, Incarnation: known.life, Scope: ownership.Passive}
	p.over(known.life)
	f, err := e.fence(spec, v.Passive.Why)
	if err != nil {
		return f, err
	}
	// What it does not prove is in doubt, as of any life that is known to be gone.
	return f, e.gone(p.name, known.life)
}

// over ends a life whose process has ended.
func (p *peer) over(life ownership.Incarnation) {
	p.mu.Lock()
	link := p.link
	present := p.life == life
	p.mu.Unlock()
	if present && link != nil {
		link.end(ErrGone)
	}
	p.retire(life)
}

// holds reports whether memory is owned that a life of a peer reaches by itself.
func (e *Endpoint) holds(a ownership.Accessor, life ownership.Incarnation) bool {
	snapshot := e.registry.Snapshot()
	for _, s := range snapshot.Sessions {
		if s.Side != ownership.Receive {
			continue
		}
		for _, piece := range s.Pieces {
			for _, c := range piece.Claims {
				if c.Name.Accessor == a && c.Name.Incarnation == life && (c.State == claim.Published || c.State == claim.InDoubt) {
					return true
				}
			}
		}
	}
	return false
}

// The times between two looks at a process whose stream has ended.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = time.Second
)

// lookOut watches a process whose stream has ended, where its end would be proof.
func (p *peer) lookOut(life ownership.Incarnation) {
	e := p.endpoint
	if !e.config.FenceGone || !fence.ForeseeGone(e.fenceCase(p.name)).Passive.Proven {
		return
	}
	for _, known := range p.identities() {
		if known.life == life && known.err == nil {
			e.start(func() { p.watch(known) })
		}
	}
}

// watch looks again and again, until the life is attached again, or it is over and
// nothing is held about it.
func (p *peer) watch(known identity) {
	e := p.endpoint
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if _, err := known.process.Gone(); err == nil {
			if !e.holds(p.name, known.life) {
				return
			}
			if _, err := e.fenceGone(p, known); err != nil {
				e.config.Log.Error("fence of a process that is gone", "peer", p.name, "process", known.process, "error", err)
				return
			}
		}
		p.mu.Lock()
		attached, over := p.link != nil && p.life == known.life, p.life != known.life
		p.mu.Unlock()
		if attached || over && !e.holds(p.name, known.life) {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.fatal:
			timer.Stop()
			return
		case <-e.ctx.Done():
			timer.Stop()
			return
		}
	}
}
