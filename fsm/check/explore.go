// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"math/bits"
	"time"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// hit is the first time that a property was seen broken.
type hit struct {
	state  int // number of the state in the queue
	inst   int // the action that breaks it, or -1 if the state is a first state that does
	length int
}

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
	local   *localMoves
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
		if head&255 == 0 && x.stop(head) {
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

// broken notes that a property is broken by an action in a state.
func (x *explorer) broken(p *load.Property, state, inst int) {
	if x.hits[p] == nil {
		x.hits[p] = x.hitAt(state, inst)
	}
}

func (x *explorer) hitAt(state, inst int) *hit {
	length := len(x.levels)
	if inst < 0 {
		length = max(length-1, 0)
	}
	return &hit{state, inst, length}
}

// expand offers every action to the loaded state, number head of the queue.
func (x *explorer) expand(head int) {
	x.candidates(x.mask)
	fair := len(x.m.goals) == 0
	instances := len(x.m.instances)
	bitmap := !x.sym && x.seen.bits != nil
	for k, m := range x.mask {
		for ; m != 0; m &= m - 1 {
			i := k<<6 | bits.TrailingZeros64(m)
			if h := x.home[i]; h >= 0 && !x.o.print {
				at := int(x.idx[h])*instances + i
				if f := x.flips[h][at]; f != 0 && x.inside == nil {
					x.edges++
					if bitmap {
						x.visit(h&(maxComps-1), x.code^f)
					} else {
						x.note(x.reorder(x.code^f, h))
					}
					if !fair {
						fair = x.fair(i)
					}
					continue
				}
				if p := x.plan[h][at]; p-1 < never-1 {
					l := x.t.leaves[p-1]
					if x.planned(l) && !fair {
						fair = x.fair(i)
					}
					if l.comp == h && l.next[x.idx[h]] != stays {
						x.flips[h][at] = l.next[x.idx[h]]
					}
					continue
				}
			}
			l := x.leafOf(i)
			if l.kind != enabled {
				continue
			}
			if x.edge(head, i, l) && !fair {
				fair = x.fair(i)
			}
			x.tryPlan(i, l)
		}
	}
	if !fair {
		x.unfair(head)
	}
}

// planned follows an action that one word has decided; nothing is left to judge.
func (x *explorer) planned(l *leaf) bool {
	c := l.comp & (maxComps - 1)
	n := int(x.idx[c])
	var flip uint64
	if n < len(l.next) {
		flip = l.next[n]
	}
	if flip == 0 {
		flip = x.flip(l)
		if x.local != nil && flip != stays {
			x.local.note(x.m.comps[c].class, x.idx[c], x.idx[c]^uint32(flip>>(x.shift[c]&63)))
		}
	}
	if flip == stays {
		return false
	}
	x.edges++
	code := x.code ^ flip
	switch {
	case x.inside != nil:
		x.arrive(code)
		return true
	case x.sym || x.seen.bits == nil:
		x.note(x.reorder(code, c))
		return true
	}
	x.visit(c, code)
	return true
}

// note puts a state into the queue, unless it was seen.
func (x *explorer) note(code uint64) {
	if x.seen.add(code) {
		x.q.push(code)
	}
}

// visit puts a state that differs in one component into the queue, unless the bitmap
// has it. A word that was just numbered may have ended the bitmap.
func (x *explorer) visit(c int, code uint64) {
	if x.seen.bits == nil {
		x.arrive(code)
		return
	}
	moved := uint64(code>>(x.shift[c]&63)&x.maskW[c]) - uint64(x.idx[c])
	if x.seen.mark(x.here + moved*x.seen.weight[c]) {
		x.q.push(code)
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
	if code == x.code {
		return false
	}
	x.edges++
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
	if x.full {
		return true
	}
	x.arrive(code)
	return true
}

// judge evaluates the properties of a step that reactions followed.
func (x *explorer) judge(head, i int, l, settled *leaf) {
	for _, p := range l.props {
		if x.breaks(p) {
			x.broken(p.prop, head, i)
		}
	}
	for _, p := range settled.props {
		if x.breaks(p) {
			x.broken(p.prop, head, i)
		}
	}
	if settled.bad && x.badHit == nil {
		x.badHit = x.hitAt(head, i)
	}
	for _, p := range x.m.instances[i].after {
		if x.breaks(p) {
			x.broken(p.prop, head, i)
		}
	}
}

// fair reports whether instance i, which is enabled, serves an assumption of fairness.
func (x *explorer) fair(i int) bool {
	for _, g := range x.m.instances[i].groups {
		if x.holds(&g.root, g.while) {
			return true
		}
	}
	return false
}

// unfair notes a state where a run may rest for ever, if it is before a goal.
func (x *explorer) unfair(head int) {
	for k, g := range x.m.goals {
		if x.stuck[k] == nil && !x.holds(&g.thenRoot, g.then) {
			x.stuck[k] = &hit{head, -1, max(len(x.levels)-1, 0)}
		}
	}
}

// reached reports whether the state with this code is at the goal.
func (x *explorer) reached(g *goal, code uint64) bool {
	saved := x.w
	for c, cl := range x.compOf {
		x.w[c] = cl.words[code>>(x.shift[c]&63)&x.maskW[c]]
	}
	yes := x.holds(&g.thenRoot, g.then)
	x.w = saved
	return yes
}
