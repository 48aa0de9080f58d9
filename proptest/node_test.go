// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

const (
	regionLen = 2 << 10
	regions   = 4
	areas     = regions + 2 // the last ones are blocks of the pool
	// poison fills what was a source and was given back: no byte of it may ever
	// be seen elsewhere. Data is below firstTag, and tags are below poison.
	poison, firstTag = 0xee, 0xc0
)

// node is one life of an endpoint, with its memory.
type node struct {
	net   *network
	name  string
	life  int
	agent *loop.Agent
	*transfer.Endpoint
	areas  []*area
	pool   *transfer.Pool
	pooled span                       // the pool's blocks
	usedBy [poolLen / poolBlock]*area // the last one that got the block
	dead   chan struct{}              // closed when the process is killed
	past   *history
}

// network is two or three nodes, what joins them, and all sessions that there are.
type network struct {
	t       *rapid.T
	fabric  *loop.Fabric
	notify  bool   // operations carry notifications
	passive bool   // bytes land only while the target makes progress
	seed    uint64 // of the next stream
	nodes   []*node
	pairs   []*pair
	links   []*hostile
	arenas  []*memory.Arena
	past    []*history // of all lives
	attach  sync.WaitGroup
	waiters sync.WaitGroup
	harmed  bool // a fault was injected, a node killed or stalled: proof may be lacking
	log     []string

	mu       sync.Mutex // guards all below, and the areas
	sessions []*held
	sources  map[string][]byte // what was to be sent, by key
	bad      []finding         // what was wrong; reported by the property's goroutine
	number   int
	ending   bool           // no request holds blocks any more
	moved    int            // sessions that succeeded, with the right bytes
	kinds    map[string]int // of them
	released int
}

// pair is two nodes and the newest stream between them.
type pair struct {
	a, b int
	link *hostile
	down time.Duration // how long there was none, in all
}

// finding is what was wrong, and on whose side.
type finding struct {
	node *node
	text string
}

func (n *network) note(format string, args ...any) {
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

func (n *network) wrong(p *node, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bad = append(n.bad, finding{p, fmt.Sprintf(format, args...)})
}

func newNetwork(t *rapid.T, notify bool, config loop.Config, nodes int) *network {
	n := &network{t: t, notify: notify, sources: make(map[string][]byte), kinds: make(map[string]int), passive: config.PassiveProgress, fabric: loop.New(config)}
	n.nodes = make([]*node, nodes)
	for i := range n.nodes {
		n.start(i)
		for j := range i {
			n.pairs = append(n.pairs, &pair{a: j, b: i})
		}
	}
	return n
}

// start makes the next life of a node, with memory of its own.
func (n *network) start(i int) {
	names := [...]string{"prefill", "decode", "relay"}
	life := 1
	if old := n.nodes[i]; old != nil {
		life = old.life + 1
	}
	p := &node{net: n, name: names[i], life: life, dead: make(chan struct{})}
	p.past = &history{name: p.name, life: life}
	n.nodes[i], n.past = p, append(n.past, p.past)
	var err error
	if p.agent, err = n.fabric.Agent(p.name); err != nil {
		n.t.Fatal(err)
	}
	p.Endpoint, err = transfer.New(transfer.Config{
		Name: p.name, Backend: p.agent, Incarnation: incarnation(p.name, life), FirstRequest: uint64(1000 * life),
		RequestTimeout: requestTimeout, Grace: grace, OperationWait: 10 * time.Second,
		Contain: func(ownership.Containment) error { return nil }, Trace: p.past.add, Notify: n.notify,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	p.lay(n.arena())
	p.OnRequest(p.answer)
}

const requestTimeout, grace = 60 * time.Second, 30 * time.Second

// slot is where a range begins: before and behind it is what nobody may touch.
func slot(k int) int { return (2*k + 1) * regionLen }

const (
	poolAt   = (2*(regions+areas) + 1) * regionLen
	arenaLen = poolAt + poolLen + regionLen
)

// lay divides a node's memory: regions, the memory beside all areas, and the pool.
func (p *node) lay(arena *memory.Arena) {
	shadow := make([]byte, arenaLen)
	at := func(from, n int) span {
		return span{bytes: [][]byte{arena.Bytes()[from : from+n]}, shadow: [][]byte{shadow[from : from+n]}}
	}
	register := func(id string, from, n int) *transfer.Region {
		r, err := p.RegisterMemory(id, backend.Memory{Addr: arena.Addr() + uintptr(from), Len: uint64(n)})
		if err != nil {
			p.net.t.Fatal(err)
		}
		return r
	}
	for k := range areas {
		a := &area{node: p, id: fmt.Sprintf("area-%d", k), aside: at(slot(regions+k), regionLen)}
		if k < regions {
			a.id = fmt.Sprintf("region-%d", k)
			a.span, a.region = at(slot(k), regionLen), register(a.id, slot(k), regionLen)
			a.fill(bytes.Repeat([]byte{firstTag}, regionLen))
		}
		p.areas = append(p.areas, a)
	}
	for from := poolAt; from < poolAt+poolLen; from += poolBlock {
		b := at(from, poolBlock)
		p.pooled.bytes, p.pooled.shadow = append(p.pooled.bytes, b.bytes...), append(p.pooled.shadow, b.shadow...)
	}
	p.pooled.fill(bytes.Repeat([]byte{firstTag}, poolLen))
	var err error
	if p.pool, err = register("pool", poolAt, poolLen).Pool(poolBlock); err != nil {
		p.net.t.Fatal(err)
	}
}

// spare are arenas of lives that are over: what a killed process owned is never
// given back, and the tests would run out of memory.
var spare []*memory.Arena

// arena returns one that nobody uses.
func (n *network) arena() *memory.Arena {
	var a *memory.Arena
	if i := len(spare) - 1; i >= 0 {
		a, spare = spare[i], spare[:i]
	} else {
		var err error
		if a, err = memory.New(memory.Spec{Len: arenaLen}); err != nil {
			n.t.Fatal(err)
		}
	}
	clear(a.Bytes())
	n.arenas = append(n.arenas, a)
	return a
}

// gaps reports whether all memory between the ranges is untouched.
func gaps(a *memory.Arena) bool {
	clean := func(at int) bool { return bytes.Count(a.Bytes()[at:at+regionLen], []byte{0}) == regionLen }
	for k := range regions + areas + 1 {
		if !clean(2 * k * regionLen) {
			return false
		}
	}
	return clean(poolAt + poolLen)
}

func (p *node) alive() bool {
	select {
	case <-p.dead:
		return false
	default:
		return true
	}
}

// look returns what is wrong with a node's memory.
func (p *node) look() (bad []finding) {
	wrong := func(id, what string) {
		bad = append(bad, finding{p, fmt.Sprintf("%s: %s %s", p.name, id, what)})
	}
	judge := func(id string, owners int, reads bool, s span) {
		switch {
		case owners == 0 && !s.same():
			wrong(id, "was written after it was given back")
		case owners > 0 && reads && !s.same():
			wrong(id, "was written while it was a source")
		case owners > 0 && !reads && s.has(poison):
			wrong(id, "has bytes of a source that was given back")
		}
	}
	for _, a := range p.areas {
		if a.region != nil {
			judge(a.id, a.owners, a.reads, a.span)
		}
		if a.owners == 0 || a.reads {
			judge("the memory beside "+a.id, 0, false, a.aside)
		}
	}
	for i, a := range p.usedBy {
		s := span{p.pooled.bytes[i : i+1], p.pooled.shadow[i : i+1]}
		if a == nil {
			judge(fmt.Sprintf("block %d", i), 0, false, s)
		} else {
			judge(fmt.Sprintf("block %d of %s", i, a.id), a.owners, a.reads, s)
		}
	}
	if c := p.Counters(); c.Conflicts > 0 || c.ForeignMessages > 0 {
		wrong("saw", fmt.Sprintf("%d conflicts, %d foreign messages in an honest world", c.Conflicts, c.ForeignMessages))
	}
	return bad
}
