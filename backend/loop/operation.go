// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kvxfer/kvxfer/backend"
)

// operation is one retained handle. All fields behind the first group are
// guarded by agent.fabric.mu.
type operation struct {
	agent   *Agent // who posts it
	number  uint64
	request backend.Request
	starts  []int64 // offset in the operation at which each segment starts
	total   int64   // bytes

	posted   bool
	released bool
	target   *Agent // set by post
	fault    Fault  // set by post; its Status is 0 once shown

	landed  int64  // bytes that reached their destination
	wire    []byte // bytes already read and not landed
	end     int64  // offset at which landing stops for good
	wait    int    // ticks before the next byte may land
	doubted bool   // it was given an answer other than success

	answer       backend.Observation // what was answered instead of the truth; Status 0: nothing
	once         bool                // answer is given once
	answeredDone bool
}

var _ backend.Operation = (*operation)(nil)

// String names the operation in errors.
func (o *operation) String() string {
	return fmt.Sprintf("operation %d of %s (%v to %s, %d bytes)", o.number, o.agent.name, o.request.Direction, o.request.Peer, o.total)
}

// Prepare implements backend.Backend.
func (a *Agent) Prepare(r backend.Request) (backend.Operation, error) {
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return nil, a.closed()
	}
	o := &operation{agent: a, request: r}
	o.request.Local, o.request.Remote = slices.Clone(r.Local), slices.Clone(r.Remote)
	o.request.Notify = slices.Clone(r.Notify)
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("loop: prepare %v by %s: %w: %w", r.Direction, a.name, backend.ErrInvalid, err)
	}
	for _, s := range r.Local {
		o.starts = append(o.starts, o.total)
		o.total += int64(s.Len)
	}
	o.end = o.total
	o.number = a.fabric.next()
	return o, nil
}

// check says what is wrong with a request.
func (o *operation) check() error {
	r := &o.request
	p := o.agent.peers[r.Peer]
	switch {
	case r.Direction != backend.Write && r.Direction != backend.Read:
		return fmt.Errorf("direction %d", r.Direction)
	case r.LocalSpace != backend.Space{} || r.RemoteSpace != backend.Space{}:
		return fmt.Errorf("%v to %v: there is no memory but the host's", r.LocalSpace, r.RemoteSpace)
	case p == nil:
		return fmt.Errorf("unknown peer %q", r.Peer)
	case len(r.Local) == 0 || len(r.Local) != len(r.Remote):
		return fmt.Errorf("%d local and %d remote segments", len(r.Local), len(r.Remote))
	}
	for i, local := range r.Local {
		remote := r.Remote[i]
		inside := func(known backend.Segment) bool { return contains(known, remote) }
		switch {
		case local.Len == 0 || local.Len != remote.Len:
			return fmt.Errorf("segment %d: %d local and %d remote bytes", i, local.Len, remote.Len)
		case !o.agent.registered(local):
			return fmt.Errorf("segment %d: %d local bytes at %#x are not registered", i, local.Len, local.Addr)
		case !slices.ContainsFunc(p.ranges, inside):
			return fmt.Errorf("segment %d: %d remote bytes at %#x are not the peer's", i, remote.Len, remote.Addr)
		}
	}
	return nil
}

// Post implements backend.Operation. A peer that is gone is answered Error,
// since a real transport cannot tell that from a broken connection.
func (o *operation) Post() backend.Observation {
	o.agent.pass(CallPost)
	f := o.agent.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := o.misuse(); err != nil {
		return o.refuse(backend.Error, err)
	}
	if err := o.unreachable(); err != nil {
		return o.refuse(backend.NotSubmitted, err)
	}
	fault := o.agent.nextFault()
	if fault.Status == backend.NotSubmitted {
		return o.refuse(backend.NotSubmitted, fault.cause(o))
	}
	o.posted, o.fault = true, fault
	o.agent.inFlight = append(o.agent.inFlight, o)
	if o.target = f.agents[o.request.Peer]; o.target == nil {
		o.fail(backend.Observation{Status: backend.Error, Err: fmt.Errorf("loop: post %s: the peer is gone", o)})
		return o.observe()
	}
	f.ops = append(f.ops, o)
	if fault.Status != 0 && fault.After == 0 {
		o.show()
		if fault.Status == backend.Error {
			return o.observe()
		}
	}
	if f.config.Inline {
		return o.finish()
	}
	return backend.Observation{Status: backend.Submitted}
}

// misuse says why this call of Post submits nothing, whatever an earlier one did.
func (o *operation) misuse() error {
	switch {
	case o.released:
		return fmt.Errorf("it was released: %w", backend.ErrClosed)
	case o.agent.gone:
		return o.agent.closed()
	case o.posted || o.answer.Status != 0:
		return fmt.Errorf("it was posted before: %w", backend.ErrInvalid)
	}
	return nil
}

// unreachable says what has changed since Prepare, so that nothing can move.
func (o *operation) unreachable() error {
	known, target := o.agent.peers[o.request.Peer], o.agent.fabric.agents[o.request.Peer]
	switch {
	case known == nil:
		return errors.New("the peer was disconnected")
	case !all(o.request.Local, o.agent.registered):
		return errors.New("local memory was deregistered")
	case target != nil && target.generation != known.generation:
		return errors.New("the peer has restarted since its metadata was loaded")
	case target != nil && !all(o.request.Remote, target.registered):
		return errors.New("the peer has deregistered the memory")
	}
	return nil
}

// refuse answers a post that submits nothing. NotSubmitted is remembered: no
// later post of the operation can make it untrue.
func (o *operation) refuse(s backend.Status, err error) backend.Observation {
	answer := backend.Observation{Status: s, Err: fmt.Errorf("loop: post %s: %w", o, err)}
	if s == backend.NotSubmitted {
		o.answer = answer
	}
	return answer
}

func all(segments []backend.Segment, ok func(backend.Segment) bool) bool {
	return !slices.ContainsFunc(segments, func(s backend.Segment) bool { return !ok(s) })
}

// finish waits inside Post until the operation has ended; fabric.mu is held,
// and given up while waiting.
func (o *operation) finish() backend.Observation {
	f := o.agent.fabric
	for o.answer.Status == 0 && o.landed < o.total {
		before := o.landed
		if f.config.Auto && !f.config.PassiveProgress {
			f.tick(nil)
		}
		if o.landed == before && o.answer.Status == 0 {
			f.moved.Wait()
		}
	}
	return o.observe()
}

// observe is the answer of a poll; fabric.mu must be held.
func (o *operation) observe() backend.Observation {
	if !o.posted && o.answer.Status == 0 {
		err := fmt.Errorf("loop: %s was not posted: %w", o, backend.ErrInvalid)
		return backend.Observation{Status: backend.NotFound, Err: err}
	}
	if o.answer.Status != 0 {
		answer := o.answer
		if o.once {
			o.answer, o.once = backend.Observation{}, false
		}
		return answer
	}
	if o.landed < o.total {
		return backend.Observation{Status: backend.InProgress}
	}
	if !o.answeredDone {
		o.answeredDone = true
		i := slices.Index(o.agent.inFlight, o)
		o.agent.inFlight = slices.Delete(o.agent.inFlight, i, i+1)
	}
	return backend.Observation{Status: backend.Done}
}

// uses reports whether the operation reads or writes memory of r, on our side.
func (o *operation) uses(r *registration) bool {
	whole := backend.Segment{Addr: uint64(r.memory.Addr), Len: r.memory.Len}
	return slices.ContainsFunc(o.request.Local, func(s backend.Segment) bool { return contains(whole, s) })
}

// Release implements backend.Operation.
func (o *operation) Release() error {
	f := o.agent.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case o.released:
		return fmt.Errorf("loop: release %s: it was released: %w", o, backend.ErrClosed)
	case o.agent.gone:
		return o.agent.closed()
	case o.posted && !o.answeredDone:
		return fmt.Errorf("loop: release %s: %w", o, backend.ErrInFlight)
	}
	o.released = true
	return nil
}
