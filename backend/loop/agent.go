// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"math"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

// Agent is one side of a fabric; it implements [backend.Backend] and
// [backend.Fencer].
type Agent struct {
	fabric     *Fabric
	name       string
	generation uint64 // another one after a restart under the same name

	// All of it guarded by fabric.mu.
	gone          bool // closed, fenced or killed
	stalled       bool
	bytesPerTick  int64 // 0: no limit of its own
	registrations []*registration
	peers         map[string]*peer
	inFlight      []*operation // posted, and not answered Done
	inbox         []backend.Notification
	faults        []Fault // for the next posts, one each
	gates         map[Call]chan struct{}
	metadataSeq   uint64
	truncate      *int // length of the next metadata
}

var _ interface {
	backend.Backend
	backend.Fencer
} = (*Agent)(nil)

// registration is one range of an agent.
type registration struct {
	agent  *Agent
	memory backend.Memory
}

// Memory is the range that was registered.
func (r *registration) Memory() backend.Memory { return r.memory }

// peer is what an agent knows of another from its metadata.
type peer struct {
	generation, seq uint64
	ranges          []backend.Segment
}

func newAgent(f *Fabric, name string, generation uint64) *Agent {
	return &Agent{
		fabric: f, name: name, generation: generation,
		peers: map[string]*peer{}, gates: map[Call]chan struct{}{},
	}
}

// Name is what peers know the agent by.
func (a *Agent) Name() string { return a.name }

// Limits of the fabric: nothing can be cancelled, a stalled peer holds an
// operation for ever, and an agent that is gone neither reads nor writes.
func (a *Agent) Limits() backend.Limits {
	return backend.Limits{
		Transport:       "loop",
		PassiveProgress: a.fabric.config.PassiveProgress,
		OwnFence:        true,
		PassiveFence:    true,
	}
}

// Register implements backend.Backend.
func (a *Agent) Register(m backend.Memory) (backend.Registration, error) {
	if m.Addr == 0 || m.Len == 0 || m.Len > math.MaxInt64 || uint64(m.Addr)+m.Len < uint64(m.Addr) {
		return nil, fmt.Errorf("loop: %d bytes at %#x: %w", m.Len, m.Addr, backend.ErrInvalid)
	}
	if err := m.Check(false); err != nil {
		return nil, fmt.Errorf("loop: %w", err)
	}
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return nil, a.closed()
	}
	r := &registration{agent: a, memory: m}
	a.registrations = append(a.registrations, r)
	return r, nil
}

// Deregister implements backend.Backend. As on real transports, a peer's
// operation that is under way goes on.
func (a *Agent) Deregister(r backend.Registration) error {
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return a.closed()
	}
	mine, _ := r.(*registration)
	at := slices.Index(a.registrations, mine)
	if mine == nil || at < 0 {
		return fmt.Errorf("loop: not a registration of %s: %w", a.name, backend.ErrInvalid)
	}
	for _, o := range a.inFlight {
		if o.uses(mine) {
			return fmt.Errorf("loop: %s uses the registration: %w", o, backend.ErrInFlight)
		}
	}
	a.registrations = slices.Delete(a.registrations, at, at+1)
	return nil
}

// Disconnect implements backend.Backend.
func (a *Agent) Disconnect(name string) error {
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return a.closed()
	}
	if a.peers[name] == nil {
		return fmt.Errorf("loop: %s does not know peer %q: %w", a.name, name, backend.ErrInvalid)
	}
	for _, o := range a.inFlight {
		if o.request.Peer == name {
			return fmt.Errorf("loop: %s goes to the peer: %w", o, backend.ErrInFlight)
		}
	}
	delete(a.peers, name)
	return nil
}

// Poll implements backend.Backend. With Config.Auto it is a tick.
func (a *Agent) Poll(ops []backend.Operation, out []backend.Observation) {
	a.pass(CallPoll)
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.fabric.config.Auto && !a.gone {
		a.fabric.tick(nil)
	}
	for i := range min(len(ops), len(out)) {
		out[i] = a.observe(ops[i])
	}
}

// observe answers for one operation; fabric.mu must be held.
func (a *Agent) observe(op backend.Operation) backend.Observation {
	if a.gone {
		return backend.Observation{Status: backend.Lost, Err: a.closed()}
	}
	if o, _ := op.(*operation); o == nil || o.agent != a || o.released {
		err := fmt.Errorf("loop: %s does not hold the operation: %w", a.name, backend.ErrInvalid)
		return backend.Observation{Status: backend.NotFound, Err: err}
	}
	return op.(*operation).observe()
}

// Progress implements backend.Backend. With Config.Auto or
// Config.PassiveProgress it is a tick. A stalled agent gets nothing.
func (a *Agent) Progress() ([]backend.Notification, error) {
	a.pass(CallProgress)
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return nil, a.closed()
	}
	if a.stalled {
		return nil, nil
	}
	if a.fabric.config.Auto || a.fabric.config.PassiveProgress {
		a.fabric.tick(a)
	}
	got := a.inbox
	a.inbox = nil
	return got, nil
}

// Close implements backend.Backend.
func (a *Agent) Close() error {
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return nil
	}
	if len(a.inFlight) > 0 {
		return fmt.Errorf("loop: close %s: %s: %w", a.name, a.inFlight[0], backend.ErrInFlight)
	}
	a.end(0)
	return nil
}

// Fence implements backend.Fencer. No byte of its operations is under way
// afterwards; Fabric.Kill is the end that leaves some.
func (a *Agent) Fence() error {
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	a.end(0)
	return nil
}

// end takes the agent out of the fabric and cuts what it takes part in;
// inSocket bytes of each operation still land. fabric.mu must be held.
func (a *Agent) end(inSocket int64) {
	if a.gone {
		return
	}
	a.gone = true
	delete(a.fabric.agents, a.name)
	for _, o := range a.fabric.ops {
		if o.agent == a || o.target == a {
			o.cut(inSocket, fmt.Errorf("loop: %s: agent %q is gone", o, a.name))
		}
	}
	a.fabric.moved.Broadcast()
}

func (a *Agent) closed() error {
	return fmt.Errorf("loop: agent %q is gone: %w", a.name, backend.ErrClosed)
}

// registered reports whether a segment lies inside one registration.
func (a *Agent) registered(s backend.Segment) bool {
	return slices.ContainsFunc(a.registrations, func(r *registration) bool {
		return contains(backend.Segment{Addr: uint64(r.memory.Addr), Len: r.memory.Len}, s)
	})
}

// contains reports whether inner lies inside outer and is not empty.
func contains(outer, inner backend.Segment) bool {
	return inner.Len > 0 && inner.Addr >= outer.Addr && inner.Len <= outer.Len &&
		inner.Addr-outer.Addr <= outer.Len-inner.Len
}
