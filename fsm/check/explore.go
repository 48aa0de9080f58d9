// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"math/bits"
	"time"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// explorer visits states, level by level.
type explorer struct {
	*engine
	ctx     context.Context
	o       Options
	start   time.Time
	q       *queue
	seen    *visited
	levels  []int // number of the first state of each level
	mask    []uint64
	edges   int
	hits    map[*load.Property]*hit
	badHit  *hit   // a range left, or reactions without end
	stuck   []*hit // by goal: a state before the goal where nothing fair is left
	stopped string
	peak    int
	last    time.Time
	firsts  int    // number of first states
	alive   []bool // by instance: it has changed something
	widest  int    // most words that one step moved
	print   uint64
	names   []uint64 // hashes of the instances' names, for fingerprints
	acyclic *bool    // no state can come back
	here    uint64   // place of the loaded state in the bitmap
	direct  bool     // a state's place in the bitmap is found from that of the loaded one
	inside  *goal    // second pass: only states before this goal
	next    [64]successor
}

func newExplorer(ctx context.Context, m *model, o Options, start time.Time) *explorer {
	x := &explorer{engine: newEngine(m, o.Symmetry), widest: 1, ctx: ctx, o: o, start: start, last: start, q: &queue{},
		hits: map[*load.Property]*hit{}, stuck: make([]*hit, len(m.goals))}
	x.mask = make([]uint64, x.stride)
	x.alive = make([]bool, len(m.instances))
	x.seen = newVisited(x.engine)
	x.seen.moved = x.settleIn
	x.engine.recode = func(from, to *layoutOf) {
		x.q.recode(from, to)
		x.seen = x.seen.collect(x.q)
		x.settleIn()
	}
	x.engine.grown = func() {
		if !x.seen.fits() {
			x.seen = x.seen.collect(x.q)
			x.settleIn()
		}
	}
	if o.print {
		for _, in := range m.instances {
			x.names = append(x.names, hashName(in.String()))
		}
	}
	if len(m.goals) > 0 {
		x.local = newLocalMoves(len(x.classes))
	}
	return x
}

// run visits everything that can be reached from the first states.
func (x *explorer) run() {
	x.firstStates()
	x.firsts = x.q.n
	x.levels = append(x.levels, 0)
	x.sweep()
}

func (x *explorer) sweep() {
	levelEnd := x.q.n
	for head := 0; head < x.q.n; head++ {
		if head == levelEnd {
			x.levels = append(x.levels, head)
			levelEnd = x.q.n
		}
		if (head&255 == 0 || x.full) && x.stop(head) {
			return
		}
		if x.sym && (head < 64 || head&4095 == 0) && !x.exchangeable(head) {
			x.stopped = "an exchange of replicas changes what happens, so that symmetry proves nothing"
			return
		}
		x.load(x.q.at(head))
		x.settleIn()
		x.expand(head)
	}
}

// settleIn notes where the loaded state stands in the bitmap.
func (x *explorer) settleIn() {
	if x.direct = x.seen.bits != nil && !x.sym && x.inside == nil; x.direct {
		x.here = x.seen.place(x.code)
	}
}

// expand offers every action to the loaded state, number head of the queue.
func (x *explorer) expand(head int) {
	x.candidates(x.mask)
	fair := len(x.m.goals) == 0
	for k, m := range x.mask {
		did := x.offerAll(head, k, m)
		x.edges += bits.OnesCount64(did)
		fair = fair || x.serves(k, did)
	}
	if !fair {
		x.unfair(head)
	}
}

// offerAll offers the instances of a set, word k of one of all, to the loaded state,
// and returns those that change it. What is planned needs no call, so that the states
// to visit are gathered first.
func (x *explorer) offerAll(head, k int, set uint64) (did uint64) {
	e, n := x.engine, 0
	home, plan := e.home, e.plan
	for ; set != 0; set &= set - 1 {
		i := k<<6 | bits.TrailingZeros64(set)
		comp := home[i]
		at := e.row[comp&(2*maxComps-1)]*len(home) + i
		flip := plan[at]
		if flip-1 >= planned-1 { // more than bits
			var done bool
			if comp, flip, done = e.follow(at, comp, flip); !done {
				x.visit(x.next[:n])
				n = 0
				comp, flip = x.offer(head, i, at)
				plan = e.plan
			}
			if flip == stays {
				continue
			}
		}
		did |= set & -set
		if flip != arrived {
			x.next[n] = successor{e.code ^ flip, comp}
			n++
		}
	}
	x.visit(x.next[:n])
	return did
}

// arrived is the answer of offer where the state after the action is in the queue.
const arrived = unknown

// offer runs an action whose place in the plan does not tell all; flip is stays if the
// state stays.
func (x *explorer) offer(head, i, at int) (comp uint8, flip uint64) {
	entry := x.plan[at]
	if entry != unknown && entry != never {
		l := x.t.leaves[entry&^planned]
		return l.comp, x.firstChange(l)
	}
	l := x.leafOf(i)
	switch {
	case l.kind != enabled:
		return 0, stays
	case l.simple && x.names == nil:
		if entry == unknown {
			x.tryPlan(i, l)
		}
		flip = x.change(l)
		x.alive[i] = x.alive[i] || flip != stays
		return l.comp, flip
	case x.edge(head, i, l):
		return 0, arrived
	}
	return 0, stays
}

// edge follows one enabled action; it reports whether the state changes.
func (x *explorer) edge(head, i int, l *leaf) bool {
	code, settled := x.apply(l)
	switch {
	case settled != nil:
		x.judge(head, i, l, settled)
	case len(l.broken) > 0:
		for _, p := range l.broken {
			x.broken(p.prop, head, i)
		}
	}
	if l.bad && x.badHit == nil {
		x.badHit = x.hitAt(head, i)
	}
	if code == x.code || x.full {
		return false
	}
	x.alive[i] = true
	x.widest = max(x.widest, len(x.moved))
	if x.o.print {
		x.fingerprint(i, code)
	}
	if x.local != nil {
		for _, mv := range x.moved {
			x.local.note(x.m.comps[mv.comp].class, x.idx[mv.comp], mv.idx)
		}
	}
	x.arrive(code)
	return true
}
