// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// stop reports whether a bound was reached, and calls Progress.
func (x *explorer) stop(head int) bool {
	bytes := x.bytes()
	x.peak = max(x.peak, bytes)
	switch {
	case x.full:
		x.stopped = "a state needs more than 63 bits"
	case bytes > x.o.MaxMemory:
		x.stopped = "memory bound reached"
	case x.o.MaxStates > 0 && x.q.n > x.o.MaxStates:
		x.stopped = "bound on states reached"
	case x.ctx.Err() != nil:
		x.stopped = x.ctx.Err().Error()
	}
	if x.t.bytes() > x.o.MaxMemory/4 {
		x.forget()
	}
	if now := time.Now(); x.o.Progress != nil && now.Sub(x.last) > 200*time.Millisecond {
		x.last = now
		x.o.Progress(Progress{States: x.q.n, Queued: x.q.n - head, Depth: len(x.levels) - 1, Bytes: bytes, Elapsed: now.Sub(x.start)})
	}
	return x.stopped != ""
}

func (x *explorer) bytes() int { return x.q.bytes() + x.seen.bytes() + x.t.bytes() + x.engine.bytes() }

// bytes is the memory that the words take, with what is known of each. A variable that
// counts on and on makes it more than that of the states.
func (e *engine) bytes() int {
	n := 0
	for _, c := range e.classes {
		n += 16*cap(c.words) + 4*len(c.dense) + 48*len(c.far)
	}
	for c := range e.compOf {
		n += 8 * cap(e.react[c])
	}
	return n + 8*cap(e.allow) + 8*cap(e.plan)
}

// forget drops the decision trees: they are a memory only.
func (x *explorer) forget() {
	x.t = newTrie()
	clear(x.roots)
	clear(x.plan)
	x.settle = 0
	for _, p := range x.m.props {
		p.root = 0
	}
	for _, in := range x.m.instances {
		for _, p := range in.after {
			p.root = 0
		}
	}
	for _, g := range x.m.groups {
		g.root = 0
	}
	for _, g := range x.m.goals {
		g.fromRoot, g.thenRoot = 0, 0
	}
}
