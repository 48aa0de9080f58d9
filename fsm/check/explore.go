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
	inside  *goal    // second pass: only states before this goal
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
		if x.sym && (head < 64 || head&4095 == 0) && !x.exchangeable(x.q.at(head)) {
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
	if x.seen.bits != nil {
		x.here = x.seen.place(x.code)
	}
}

// expand offers every action to the loaded state, number head of the queue.
func (x *explorer) expand(head int) {
	e := x.engine
	e.candidates(x.mask)
	fair := len(e.m.goals) == 0
	for k, m := range x.mask {
		did := uint64(0) // what changes the state
		for ; m != 0; m &= m - 1 {
			i := k<<6 | bits.TrailingZeros64(m)
			comp := e.home[i]
			entry := e.row[comp&(2*maxComps-1)]*len(e.home) + i
			flip := e.plan[entry]
			if flip-1 >= planned-1 { // more than bits
				if flip == unknown || flip == never {
					comp, flip = x.offer(head, i)
				} else {
					comp, flip = e.follow(entry, comp)
				}
				if flip == stays {
					continue
				}
			}
			did |= m & -m
			if flip != arrived {
				x.visit(int(comp), e.code^flip)
			}
		}
		x.edges += bits.OnesCount64(did)
		fair = fair || x.serves(k, did)
	}
	if !fair {
		x.unfair(head)
	}
}

// arrived is the answer of offer where the state after the action is in the queue.
const arrived = unknown

// offer runs an action that is not planned; flip is stays if the state stays.
func (x *explorer) offer(head, i int) (comp uint8, flip uint64) {
	l := x.leafOf(i)
	switch {
	case l.kind != enabled:
		return 0, stays
	case l.simple && x.names == nil:
		x.tryPlan(i, l)
		flip = x.change(l)
		x.alive[i] = x.alive[i] || flip != stays
		return l.comp, flip
	case x.edge(head, i, l):
		return 0, arrived
	}
	return 0, stays
}

// note puts a state into the queue, unless it was seen.
func (x *explorer) note(code uint64) {
	if x.seen.add(code) {
		x.q.push(code)
	}
}

// visit puts a state that differs in component c into the queue, unless it was seen.
func (x *explorer) visit(c int, code uint64) {
	switch {
	case x.inside != nil:
		x.arrive(code)
	case x.sym:
		x.note(x.reorder(code, c))
	case x.seen.bits == nil:
		x.note(code)
	default:
		moved := code>>(x.shift[c&(maxComps-1)]&63)&x.maskW[c&(maxComps-1)] - uint64(x.idx[c&(maxComps-1)])
		if x.seen.mark(x.here + moved*x.seen.weight[c&(maxComps-1)]) {
			x.q.push(code)
		}
	}
}

// arrive puts a state into the queue, unless it was seen.
func (x *explorer) arrive(code uint64) {
	if x.sym {
		code = x.canonical(code)
	}
	if x.inside != nil && x.reached(x.inside, code) {
		return
	}
	x.note(code)
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
