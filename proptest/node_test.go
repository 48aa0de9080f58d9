// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

const (
	regionLen = 2 << 10
	regions   = 4
	// poison fills what was a source and was given back: no byte of it may ever
	// be seen elsewhere. Data is below firstTag, and tags are below poison.
	poison, firstTag = 0xee, 0xc0
)

// area is a region with what its bytes must be while nobody owns it: the shadow.
type area struct {
	region *transfer.Region
	bytes  []byte
	shadow []byte
	// aside is where a scatter puts the region's bytes, or a gather has them from.
	// Nothing registers it; it is the session's as long as the region is.
	aside, asideShadow []byte

	owners int  // sessions that have not released it
	reads  bool // they read it
}

// fill puts other content in, which only who has the memory back may do.
func (a *area) fill(content []byte) {
	copy(a.bytes, content)
	copy(a.shadow, content)
}

// same: an own copy must leave both ends of it alone.
func (a *area) same() bool {
	return bytes.Equal(a.bytes, a.shadow) && bytes.Equal(a.aside, a.asideShadow)
}

// fillAside puts other content beside the region.
func (a *area) fillAside(content []byte) {
	copy(a.aside, content)
	copy(a.asideShadow, content)
}

// segment is where bytes of ours are.
func segment(b []byte) []backend.Segment {
	return []backend.Segment{{Addr: uint64(uintptr(unsafe.Pointer(&b[0]))), Len: uint64(len(b))}}
}

// node is one life of an endpoint, with its memory.
type node struct {
	net   *network
	name  string
	life  int
	agent *loop.Agent
	*transfer.Endpoint
	areas []*area
	dead  chan struct{} // closed when the process is killed
}

// held is one session on one side, and the areas that it owns there.
type held struct {
	*transfer.Session
	node   *node
	areas  []*area
	pieces []string
	writes bool   // into the areas
	spread []bool // a scatter copies the area aside
}

// network is two nodes, what joins them, and all sessions that there are.
type network struct {
	t       *rapid.T
	fabric  *loop.Fabric
	down    time.Duration // how long there was no stream, in all
	passive bool          // bytes land only while the target makes progress
	nodes   [2]*node
	link    *hostile // the newest
	links   []*hostile
	arenas  []*memory.Arena
	attach  sync.WaitGroup
	waiters sync.WaitGroup
	harmed  bool // a fault was injected, a node killed or stalled: proof may be lacking
	log     []string

	mu       sync.Mutex // guards all below, and the areas
	sessions []*held
	sources  map[string][]byte // of each piece of each session, what was to be sent
	bad      []string          // what was wrong; reported by the property's goroutine
	number   int
	moved    int // sessions that succeeded, with the right bytes
	released int
}

func (n *network) note(format string, args ...any) {
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

func (n *network) wrong(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bad = append(n.bad, fmt.Sprintf(format, args...))
}

// start makes the next life of a node, with memory of its own.
func (n *network) start(i int) {
	names := [2]string{"prefill", "decode"}
	life := 1
	if old := n.nodes[i]; old != nil {
		life = old.life + 1
	}
	p := &node{net: n, name: names[i], life: life, dead: make(chan struct{})}
	n.nodes[i] = p
	var err error
	if p.agent, err = n.fabric.Agent(p.name); err != nil {
		n.t.Fatal(err)
	}
	p.Endpoint, err = transfer.New(transfer.Config{
		Name: p.name, Backend: p.agent, Incarnation: incarnation(p.name, life), FirstRequest: uint64(1000 * life),
		RequestTimeout: 60 * time.Second, Grace: 30 * time.Second, OperationWait: 10 * time.Second,
		Contain: func(ownership.Containment) error { return nil },
	})
	if err != nil {
		n.t.Fatal(err)
	}
	arena := n.arena()
	for k := range regions {
		at := uintptr(2*k+1) * regionLen // before and behind it is what nobody may touch
		region, err := p.RegisterMemory(fmt.Sprintf("region-%d", k), backend.Memory{Addr: arena.Addr() + at, Len: regionLen})
		if err != nil {
			n.t.Fatal(err)
		}
		beside := uintptr(2*(regions+k)+1) * regionLen
		a := &area{
			region: region, bytes: arena.Bytes()[at : at+regionLen], shadow: make([]byte, regionLen),
			aside: arena.Bytes()[beside : beside+regionLen], asideShadow: make([]byte, regionLen),
		}
		a.fill(bytes.Repeat([]byte{firstTag}, regionLen))
		p.areas = append(p.areas, a)
	}
	p.OnRequest(p.answer)
}

// spare are arenas of lives that are over: what a killed process owned is never
// given back, and the tests would run out of memory.
var spare []*memory.Arena

// arena returns one with a gap before and behind each region.
func (n *network) arena() *memory.Arena {
	var a *memory.Arena
	if i := len(spare) - 1; i >= 0 {
		a, spare = spare[i], spare[:i]
	} else {
		var err error
		if a, err = memory.New(memory.Spec{Len: (4*regions + 1) * regionLen}); err != nil {
			n.t.Fatal(err)
		}
	}
	clear(a.Bytes())
	n.arenas = append(n.arenas, a)
	return a
}

// gaps reports whether all memory between the regions is untouched.
func gaps(a *memory.Arena) bool {
	for k := range 2*regions + 1 {
		if at := 2 * k * regionLen; bytes.Count(a.Bytes()[at:at+regionLen], []byte{0}) != regionLen {
			return false
		}
	}
	return true
}

// take marks an area as about to be owned. Content for a reader is put in where
// nobody reads it yet.
func (p *node) take(a *area, reads bool) bool {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.owners > 0 && !(reads && a.reads) {
		return false
	}
	if a.owners == 0 {
		n.number++
		content := make([]byte, regionLen)
		for i := range content {
			content[i] = byte((n.number*31 + i*7) % firstTag)
			if !reads {
				content[i] = firstTag + byte(n.number%16)
			}
		}
		a.fill(content)
	}
	a.owners, a.reads = a.owners+1, reads
	return true
}

// back marks an area as ours again. Whoever had it alone gets permission to
// reuse it, and does.
func (p *node) back(a *area, owned bool, why string) {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	a.owners--
	if a.owners > 0 {
		return
	}
	err := a.region.Reuse()
	if _, registered := a.region.State(); !registered {
		err = nil // a stop has let go of it
	}
	if err != nil {
		if p.alive() && !errors.Is(err, ownership.ErrFatal) {
			n.bad = append(n.bad, fmt.Sprintf("%s: %s is ours again (%s) and may not be reused: %v", p.name, a.region.ID(), why, err))
		}
		return
	}
	if !owned {
		return // nobody has heard of it: it is as it was
	}
	n.number++
	tag := byte(firstTag + n.number%16)
	if a.reads {
		tag = poison
	}
	a.fill(bytes.Repeat([]byte{tag}, regionLen))
	a.fillAside(bytes.Repeat([]byte{tag}, regionLen))
}

func (p *node) alive() bool {
	select {
	case <-p.dead:
		return false
	default:
		return true
	}
}

// key names what a piece of a session moves.
func key(s ownership.SessionName, piece string) string { return s.String() + ":" + piece }

// source notes the bytes that a piece is to deliver.
func (n *network) source(s ownership.SessionName, piece string, a *area) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sources[key(s, piece)] = bytes.Clone(a.shadow)
}

// hold follows a session until it gives its memory back, or its process dies.
func (n *network) hold(h *held) {
	n.mu.Lock()
	n.sessions = append(n.sessions, h)
	n.mu.Unlock()
	n.waiters.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-h.node.dead:
				cancel()
			case <-ctx.Done():
			}
		}()
		if err := h.Drain(ctx); err != nil {
			return // killed, halted or FATAL: what it owns, it owns for good
		}
		n.arrived(h)
		n.mu.Lock()
		n.released++
		n.mu.Unlock()
		for _, a := range h.areas {
			h.node.back(a, true, "session "+h.Name().String()+" is drained")
		}
	})
}

// arrived compares what a successful session delivered, byte by byte.
func (n *network) arrived(h *held) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !h.writes || h.Answer().Outcome != outcome.Succeeded {
		return
	}
	n.moved++
	for i, a := range h.areas {
		if h.spread != nil && h.spread[i] && !bytes.Equal(a.aside, n.sources[key(h.Name(), h.pieces[i])]) {
			n.bad = append(n.bad, fmt.Sprintf("%s: session %v succeeded, and the scatter of %s left other bytes", h.node.name, h.Name(), a.region.ID()))
		}
		if want := n.sources[key(h.Name(), h.pieces[i])]; !bytes.Equal(a.bytes, want) {
			n.bad = append(n.bad, fmt.Sprintf("%s: session %v succeeded, and %s has other bytes than were sent", h.node.name, h.Name(), a.region.ID()))
		}
	}
}

// answer does what the label of a request asks for: the plan was drawn before,
// for this runs on a goroutine of its own.
func (p *node) answer(r *transfer.Request) {
	var how string
	var area int
	var after time.Duration
	var fault int64
	if _, err := fmt.Sscanf(r.Label(), "%s %d %d %d", &how, &area, &after, &fault); err != nil {
		p.net.wrong("label %q: %v", r.Label(), err)
		return
	}
	p.net.waiters.Go(func() {
		select {
		case <-time.After(after):
		case <-r.Withdrawn():
			return
		case <-p.dead:
			return
		}
		switch {
		case how == "gather" && r.Direction() == backend.Write:
			p.gather(r, p.areas[area], fault)
			return
		case how != "refuse":
			p.move(r, p.areas[area])
			return
		}
		_ = r.Refuse("the plan says so") // of an endpoint that may be halted
	})
}

func (p *node) move(r *transfer.Request, a *area) {
	sends := r.Direction() == backend.Write
	if !p.take(a, sends) {
		_ = r.Refuse("no memory")
		return
	}
	var s *transfer.Session
	var err error
	if sends {
		p.net.source(r.Session(), r.Piece(), a)
		s, err = r.Send(transfer.SendSpec{Region: a.region})
	} else {
		s, err = r.Fetch(transfer.FetchSpec{Region: a.region})
	}
	if err != nil {
		p.back(a, false, fmt.Sprintf("answer to %v:%s: %v", r.Session(), r.Piece(), err))
		_ = r.Refuse(err.Error())
		return
	}
	p.net.hold(&held{Session: s, node: p, areas: []*area{a}, pieces: []string{r.Piece()}, writes: !sends})
}

// gather sends what an own copy has to bring into the region first, which has it
// alone meanwhile.
func (p *node) gather(r *transfer.Request, a *area, fault int64) {
	n := p.net
	if !p.take(a, false) {
		_ = r.Refuse("no memory")
		return
	}
	n.mu.Lock()
	content := make([]byte, regionLen)
	for i := range content {
		content[i] = byte((n.number*17 + i*5) % firstTag)
	}
	a.fillAside(content)
	n.sources[key(r.Session(), r.Piece())] = content
	n.mu.Unlock()
	s, err := r.Send(transfer.SendSpec{Region: a.region, Gather: p.local(a.aside, a.bytes, fault)})
	if err != nil {
		p.back(a, false, fmt.Sprintf("answer to %v:%s: %v", r.Session(), r.Piece(), err))
		_ = r.Refuse(err.Error())
		return
	}
	n.hold(&held{Session: s, node: p, areas: []*area{a}, pieces: []string{r.Piece()}})
}

// local is an own copy that is lost after so many bytes; with 0 it runs through.
// What it had read goes on being written for a while.
func (p *node) local(from, to []byte, fault int64) backend.Local {
	l, err := p.net.fabric.Local(segment(from), segment(to))
	if err == nil && fault > 0 {
		err = l.Inject(loop.Fault{Status: backend.Lost, After: fault, Late: loop.Rest, Delay: 3})
	}
	if err != nil {
		p.net.wrong("local copy: %v", err)
	}
	return l
}
