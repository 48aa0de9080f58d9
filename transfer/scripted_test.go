// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer"
)

// errScript is what a call fails with where nothing else is told.
var errScript = errors.New("the library says no")

// scripted is an agent whose calls fail, block, or answer something else on demand.
// What its script does not name is the agent's own.
type scripted struct {
	*loop.Agent
	limits *backend.Limits
	fabric *loop.Fabric

	mu     sync.Mutex
	errs   map[string][]error          // guarded by mu; by call, of the next ones; nil lets one through
	gates  map[string]chan struct{}    // guarded by mu; by call
	says   map[string][]backend.Status // guarded by mu; what the next Post or Poll answers
	called map[string]int              // guarded by mu
}

// script makes the party's backend one that can be told what to do.
func script(b *scripted) func(*transfer.Config) {
	return func(c *transfer.Config) {
		b.Agent = c.Backend.(*loop.Agent)
		c.Backend = b
	}
}

// fail makes the next calls fail, one for each error.
func (b *scripted) fail(call string, errs ...error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.errs == nil {
		b.errs = map[string][]error{}
	}
	b.errs[call] = append(b.errs[call], errs...)
}

// answer makes the next calls of Post or Poll answer something else than what is so.
func (b *scripted) answer(call string, list ...backend.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.says == nil {
		b.says = map[string][]backend.Status{}
	}
	b.says[call] = append(b.says[call], list...)
}

// hold makes a call block until release, which may be called again.
func (b *scripted) hold(call string) (release func()) {
	gate := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gates == nil {
		b.gates = map[string]chan struct{}{}
	}
	b.gates[call] = gate
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.gates, call)
		close(gate)
	})
}

// calls returns how often a call was made.
func (b *scripted) calls(call string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.called[call]
}

// turn is what the script says of a call.
func (b *scripted) turn(call string) error {
	b.mu.Lock()
	gate := b.gates[call]
	if b.called == nil {
		b.called = map[string]int{}
	}
	b.called[call]++
	var err error
	if list := b.errs[call]; len(list) > 0 {
		err, b.errs[call] = list[0], list[1:]
	}
	b.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return err
}

func (b *scripted) next(call string) (s backend.Status, told bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.says[call]
	if len(list) == 0 {
		return 0, false
	}
	b.says[call] = list[1:]
	return list[0], true
}

func (b *scripted) Limits() backend.Limits {
	if b.limits != nil {
		return *b.limits
	}
	return b.Agent.Limits()
}

func (b *scripted) Register(m backend.Memory) (backend.Registration, error) {
	if err := b.turn("Register"); err != nil {
		return nil, err
	}
	return b.Agent.Register(m)
}

func (b *scripted) Deregister(r backend.Registration) error {
	if err := b.turn("Deregister"); err != nil {
		return err
	}
	return b.Agent.Deregister(r)
}

func (b *scripted) Metadata() ([]byte, error) {
	if err := b.turn("Metadata"); err != nil {
		return nil, err
	}
	return b.Agent.Metadata()
}

func (b *scripted) Connect(peer string, metadata []byte) error {
	if err := b.turn("Connect"); err != nil {
		return err
	}
	return b.Agent.Connect(peer, metadata)
}

func (b *scripted) Disconnect(peer string) error {
	if err := b.turn("Disconnect"); err != nil {
		return err
	}
	return b.Agent.Disconnect(peer)
}

func (b *scripted) Prepare(r backend.Request) (backend.Operation, error) {
	if err := b.turn("Prepare"); err != nil {
		return nil, err
	}
	o, err := b.Agent.Prepare(r)
	return &scriptedOperation{o, b}, err
}

func (b *scripted) Poll(list []backend.Operation, out []backend.Observation) {
	_ = b.turn("Poll")
	list = slices.Clone(list)
	for i, o := range list {
		list[i] = o.(*scriptedOperation).Operation
	}
	b.Agent.Poll(list, out)
	for i := range out {
		if s, told := b.next("Poll"); told {
			out[i] = backend.Observation{Status: s}
		}
	}
}

func (b *scripted) Progress() ([]backend.Notification, error) {
	err := b.turn("Progress")
	list, own := b.Agent.Progress()
	return list, errors.Join(err, own)
}

func (b *scripted) Close() error {
	if err := b.turn("Close"); err != nil {
		return err
	}
	return b.Agent.Close()
}

func (b *scripted) Fence() error {
	if err := b.turn("Fence"); err != nil {
		return err
	}
	return b.Agent.Fence()
}

type scriptedOperation struct {
	backend.Operation
	of *scripted
}

func (o *scriptedOperation) Post() backend.Observation {
	_ = o.of.turn("Post")
	seen := o.Operation.Post()
	if s, told := o.of.next("Post"); told {
		if seen = (backend.Observation{Status: s}); s == backend.Error {
			seen.Err = errScript
		}
	}
	return seen
}

func (o *scriptedOperation) Release() error {
	if err := o.of.turn("Release"); err != nil {
		return err
	}
	return o.Operation.Release()
}

// scriptedLocal is a copy that fails to be released.
type scriptedLocal struct {
	backend.Local
	err error
}

func (l *scriptedLocal) Release() error { return errors.Join(l.Local.Release(), l.err) }
