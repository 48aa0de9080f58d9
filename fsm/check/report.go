// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// report turns what was seen into verdicts.
func (x *explorer) report() *Result {
	x.peak = max(x.peak, x.bytes())
	r := &Result{System: x.m.sys.Name, Replicas: x.o.Replicas, Environment: x.o.Environment, Symmetry: x.o.Symmetry,
		States: x.q.n, Edges: x.edges, Depth: len(x.levels) - 1, Bytes: x.peak,
		StateBytes: x.q.bytes() + x.seen.bytes(), Complete: x.stopped == "", Stopped: x.stopped, print: x.print}
	r.Findings = append(r.Findings, x.sound()...)
	for _, p := range x.m.sys.Properties {
		if p.Kind == load.Eventually {
			r.Findings = append(r.Findings, x.live(p))
			continue
		}
		f := &Finding{Property: p, Name: p.Name, Doc: p.Doc}
		x.judged(f, x.hits[p], x.breaker(p))
		r.Findings = append(r.Findings, f)
	}
	r.Dead = x.dead()
	r.Elapsed = time.Since(x.start)
	return r
}

// dead lists the actions that never changed anything.
func (x *explorer) dead() []string {
	if x.stopped != "" {
		return nil
	}
	lives := map[*load.Action]bool{}
	for i, in := range x.m.instances {
		lives[in.action] = lives[in.action] || x.alive[i]
	}
	var out []string
	for _, a := range x.m.sys.Actions {
		if !lives[a] {
			out = append(out, a.Name)
		}
	}
	return out
}

// judged fills in the verdict of a property that single states and steps decide.
func (x *explorer) judged(f *Finding, h *hit, breaks func(i int, l, settled *leaf) bool) {
	switch {
	case h != nil:
		f.Verdict, f.Length, f.Trace = Violated, h.length, x.trace(h, breaks)
	case x.stopped != "":
		f.Verdict, f.Why = NotFinished, x.stopped
	default:
		f.Verdict = Proved
	}
}

// sound reports what every system promises, only if it is broken: assignments stay
// in range and reactions end.
func (x *explorer) sound() []*Finding {
	if x.badHit == nil {
		return nil
	}
	f := &Finding{Name: "sound", Doc: "assignments stay in their range, and reactions come to an end"}
	x.judged(f, x.badHit, func(_ int, l, settled *leaf) bool { return l.bad || settled != nil && settled.bad })
	return []*Finding{f}
}

// live judges a liveness property: all its ground goals.
func (x *explorer) live(p *load.Property) *Finding {
	f := &Finding{Property: p, Name: p.Name, Doc: p.Doc, Verdict: Proved}
	if x.stopped != "" {
		f.Verdict, f.Why = NotFinished, x.stopped
		return f
	}
	if x.acyclic == nil {
		acyclic := !x.local.cyclic()
		x.acyclic = &acyclic
	}
	for k, g := range x.m.goals {
		if g.prop != p || x.stuck[k] == nil && *x.acyclic {
			continue
		}
		x.pursue(f, g)
		if f.Verdict != Proved {
			break
		}
	}
	return f
}

// pursue looks closely at one goal: only states before it, from where it is due.
func (x *explorer) pursue(f *Finding, g *goal) {
	y := newExplorer(x.ctx, x.m, x.o, x.start)
	y.engine, y.inside = x.engine, g
	y.mask = make([]uint64, y.stride)
	y.seen = newVisited(y.engine)
	y.seen.moved = y.settleIn
	y.local, y.widest = x.local, x.widest
	y.engine.grown = func() {}
	starts := x.due(g)
	for _, s := range starts {
		if y.seen.add(x.q.at(s)) {
			y.q.push(x.q.at(s))
		}
	}
	y.levels = []int{0}
	y.sweep()
	if y.stopped != "" {
		f.Verdict, f.Why = NotFinished, y.stopped
		return
	}
	if h := y.stuck[slices.Index(x.m.goals, g)]; h != nil {
		f.Verdict, f.Why = Violated, "a run may rest before it"
		x.lasso(f, y, starts, h.state, nil)
		return
	}
	if *x.acyclic {
		return
	}
	if x.sym {
		f.Verdict, f.Why = NotFinished, "states come back, which cannot be judged with symmetry; run it without"
		return
	}
	if cycle, h := y.fairCycle(); cycle != nil {
		f.Verdict, f.Why = Violated, "a fair run may go round before it"
		x.lasso(f, y, starts, h, cycle)
	}
}

// due lists the states, by number, from where the goal has to be reached.
func (x *explorer) due(g *goal) []int {
	var out []int
	last := x.q.n
	if g.from == nil || g.from.is(1) {
		last = x.firsts
	}
	for s := range last {
		x.load(x.q.at(s))
		if (last == x.firsts || x.holds(&g.fromRoot, g.from)) && !x.holds(&g.thenRoot, g.then) {
			out = append(out, s)
		}
	}
	return out
}

// lasso is the run to a state of y, and then round the cycle.
func (x *explorer) lasso(f *Finding, y *explorer, starts []int, state int, cycle []uint64) {
	tail := y.path(state)
	head := tail[:1]
	for _, s := range starts {
		if x.q.at(s) == tail[0] {
			head = x.path(s)
		}
	}
	t := &Trace{Start: x.startValues(head[0])}
	codes := append(append([]uint64{}, head...), tail[1:]...)
	cur := x.replay(t, codes)
	t.Loop = len(t.Steps)
	if len(cycle) > 0 {
		x.replay(t, append([]uint64{cur}, cycle...))
	}
	f.Length, f.Trace = len(t.Steps), t
}
