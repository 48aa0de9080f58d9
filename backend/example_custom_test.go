// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/memory"
)

// machine is what moves bytes here: agents of one process that copy for each
// other, one copy at a time and at once.
type machine struct {
	mu     sync.Mutex
	agents map[string]*agent // guarded by mu
	serial int               // guarded by mu; of agents and metadata
}

// agent is the custom backend. All of its fields are guarded by machine.mu.
type agent struct {
	*machine
	name   string
	life   int
	ranges []*registered
	peers  map[string]card
	mail   []backend.Notification
	closed bool
}

type registered struct{ memory backend.Memory }

func (r *registered) Memory() backend.Memory { return r.memory }

// card is an agent's metadata.
type card struct {
	Name         string
	Life, Serial int
	Ranges       []backend.Segment
}

func (m *machine) agent(name string) *agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serial++
	a := &agent{machine: m, name: name, life: m.serial, peers: map[string]card{}}
	m.agents[name] = a
	return a
}

// enter takes the lock, unless the agent is closed.
func (a *agent) enter() error {
	if a.mu.Lock(); a.closed {
		a.mu.Unlock()
		return fmt.Errorf("copy: agent %s: %w", a.name, backend.ErrClosed)
	}
	return nil
}

func (a *agent) Limits() backend.Limits {
	// A copy ends inside of Post, so an agent that is closed touches nothing and
	// nobody touches memory through it.
	return backend.Limits{Transport: "copy", BoundedProgress: true, PassiveFence: true}
}

func (a *agent) Register(m backend.Memory) (backend.Registration, error) {
	if m.Addr == 0 || m.Len == 0 || uint64(m.Addr)+m.Len < m.Len {
		return nil, fmt.Errorf("copy: %d bytes at %#x: %w", m.Len, m.Addr, backend.ErrInvalid)
	}
	if err := m.Check(a.Limits().VRAM); err != nil {
		return nil, err // a device's memory is not for this transport
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.mu.Unlock()
	r := &registered{m}
	a.ranges = append(a.ranges, r)
	return r, nil
}

func (a *agent) Deregister(r backend.Registration) error {
	if err := a.enter(); err != nil {
		return err
	}
	defer a.mu.Unlock()
	mine, _ := r.(*registered)
	at := slices.Index(a.ranges, mine)
	if at < 0 {
		return fmt.Errorf("copy: not a registration of %s: %w", a.name, backend.ErrInvalid)
	}
	a.ranges = slices.Delete(a.ranges, at, at+1)
	return nil
}

func (a *agent) Metadata() ([]byte, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.mu.Unlock()
	a.serial++
	c := card{Name: a.name, Life: a.life, Serial: a.serial}
	for _, r := range a.ranges {
		c.Ranges = append(c.Ranges, backend.Segment{Addr: uint64(r.memory.Addr), Len: r.memory.Len})
	}
	body, err := json.Marshal(c)
	sum := sha256.Sum256(body)
	return append(sum[:], body...), err
}

// Connect checks the metadata whole before it uses any of it.
func (a *agent) Connect(peer string, metadata []byte) error {
	var c card
	bad := func(why string) error { return fmt.Errorf("copy: peer %s: %w: %s", peer, backend.ErrMetadata, why) }
	if len(metadata) < sha256.Size {
		return bad("too short")
	}
	body := metadata[sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], metadata[:sha256.Size]) || json.Unmarshal(body, &c) != nil {
		return bad("changed on the way")
	}
	if err := a.enter(); err != nil {
		return err
	}
	defer a.mu.Unlock()
	switch {
	case c.Name != peer || c.Life == a.life:
		return bad("it is of " + c.Name)
	case c.Serial < a.peers[peer].Serial:
		return bad("newer metadata is loaded")
	}
	a.peers[peer] = c
	return nil
}

func (a *agent) Disconnect(peer string) error {
	if err := a.enter(); err != nil {
		return err
	}
	defer a.mu.Unlock()
	if _, known := a.peers[peer]; !known {
		return fmt.Errorf("copy: unknown peer %s: %w", peer, backend.ErrInvalid)
	}
	delete(a.peers, peer)
	return nil
}

// operation is one copy. Its fields are guarded by machine.mu.
type operation struct {
	*agent
	request  backend.Request
	answer   backend.Observation // Status 0 until posted
	released bool
}

func (a *agent) Prepare(r backend.Request) (backend.Operation, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.mu.Unlock()
	r.Local, r.Remote, r.Notify = slices.Clone(r.Local), slices.Clone(r.Remote), slices.Clone(r.Notify)
	host := r.LocalSpace == backend.Space{} && r.RemoteSpace == backend.Space{}
	bad := !host || len(r.Local) == 0 || len(r.Local) != len(r.Remote) || r.Direction != backend.Write && r.Direction != backend.Read
	for i := 0; i < len(r.Local) && !bad; i++ {
		remote := func(s backend.Segment) bool { return inside(s, r.Remote[i]) }
		bad = r.Local[i].Len == 0 || r.Local[i].Len != r.Remote[i].Len || !a.has(r.Local[i]) || !slices.ContainsFunc(a.peers[r.Peer].Ranges, remote)
	}
	if bad {
		return nil, fmt.Errorf("copy: request to %s: %w", r.Peer, backend.ErrInvalid)
	}
	return &operation{agent: a, request: r}, nil
}

func inside(outer, s backend.Segment) bool {
	return s.Addr >= outer.Addr && s.Addr-outer.Addr <= outer.Len && s.Len <= outer.Len-(s.Addr-outer.Addr)
}

func (a *agent) has(s backend.Segment) bool {
	return slices.ContainsFunc(a.ranges, func(r *registered) bool {
		return inside(backend.Segment{Addr: uint64(r.memory.Addr), Len: r.memory.Len}, s)
	})
}

// Post answers NotSubmitted only where not a byte has moved or ever will.
func (o *operation) Post() backend.Observation {
	if err := o.enter(); err != nil {
		return backend.Observation{Status: backend.Error, Err: err}
	}
	defer o.mu.Unlock()
	if o.released {
		return backend.Observation{Status: backend.Error, Err: fmt.Errorf("copy: released before: %w", backend.ErrClosed)}
	}
	if o.answer.Status != 0 {
		return backend.Observation{Status: backend.Error, Err: fmt.Errorf("copy: posted before: %w", backend.ErrInvalid)}
	}
	r, peer := &o.request, o.agents[o.request.Peer]
	reachable := peer != nil && !peer.closed && peer.life == o.peers[r.Peer].Life
	for i := 0; i < len(r.Local) && reachable; i++ {
		reachable = o.has(r.Local[i]) && peer.has(r.Remote[i])
	}
	if !reachable {
		o.answer = backend.Observation{Status: backend.NotSubmitted, Err: fmt.Errorf("copy: peer %s or its memory is not there", r.Peer)}
		return o.answer
	}
	for i := range r.Local {
		if r.Direction == backend.Write {
			copy(view(r.Remote[i]), view(r.Local[i]))
		} else {
			copy(view(r.Local[i]), view(r.Remote[i]))
		}
	}
	if len(r.Notify) > 0 {
		peer.mail = append(peer.mail, backend.Notification{Peer: o.name, Message: r.Notify})
	}
	o.answer = backend.Observation{Status: backend.Done}
	return o.answer
}

// view is the memory of a segment; it is not Go's, so its address is enough.
func view(s backend.Segment) []byte {
	address := uintptr(s.Addr)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), s.Len)
}

func (o *operation) Release() error {
	if err := o.enter(); err != nil {
		return err
	}
	defer o.mu.Unlock()
	if o.released {
		return fmt.Errorf("copy: released before: %w", backend.ErrClosed)
	}
	o.released = true // a copy that was posted has ended
	return nil
}

func (a *agent) Poll(ops []backend.Operation, out []backend.Observation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, op := range ops {
		o, _ := op.(*operation)
		switch {
		case a.closed:
			out[i] = backend.Observation{Status: backend.Lost, Err: backend.ErrClosed}
		case o == nil || o.agent != a || o.released || o.answer.Status == 0:
			out[i] = backend.Observation{Status: backend.NotFound, Err: backend.ErrInvalid}
		default:
			out[i] = o.answer
		}
	}
}

func (a *agent) Progress() ([]backend.Notification, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.mu.Unlock()
	mail := a.mail
	a.mail = nil
	return mail, nil
}

func (a *agent) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return nil
}

// A backend of one's own: it says what it saw, refuses what could hurt, and
// leaves every decision to the library. This one copies inside of one process;
// package backendtest checks it, as it does any other.
func Example_custom() {
	m := &machine{agents: map[string]*agent{}}
	a, b := m.agent("a"), m.agent("b")
	from, to := mapped(), mapped()
	copy(from.Bytes(), "keys and values")
	_, err := a.Register(backend.Memory{Addr: from.Addr(), Len: 4096})
	check(err)
	_, err = b.Register(backend.Memory{Addr: to.Addr(), Len: 4096})
	check(err)
	metadata, err := b.Metadata()
	check(err)
	check(a.Connect("b", metadata))

	o, err := a.Prepare(backend.Request{
		Direction: backend.Write, Peer: "b",
		Local:  []backend.Segment{{Addr: uint64(from.Addr()), Len: 15}},
		Remote: []backend.Segment{{Addr: uint64(to.Addr()), Len: 15}},
	})
	check(err)
	fmt.Println(o.Post().Status)
	check(o.Release())
	fmt.Printf("%s\n", to.Bytes()[:15])
	// Output:
	// done
	// keys and values
}

func mapped() *memory.Arena {
	arena, err := memory.New(memory.Spec{Len: 4096})
	check(err)
	return arena
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
