// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/kvxfer/kvxfer/fsm/load"

// candidates finds the instances that no single word of the state rules out.
func (e *engine) candidates(mask []uint64) {
	rows, allow, stride := e.row[:len(e.compOf)], e.allow, e.stride
	for k := range mask {
		m := ^uint64(0)
		for _, r := range rows {
			m &= allow[r*stride+k]
		}
		mask[k] = m
	}
	if !e.sym {
		return
	}
	for k := range e.twins {
		t := &e.twins[k] // a copy would cost more than the question
		if e.idx[t.comp&(maxComps-1)] == e.idx[(t.comp-1)&(maxComps-1)] {
			for k := range mask {
				mask[k] &^= t.same[k]
			}
		}
	}
}

// leafOf runs instance i, a candidate, on the loaded state, from memory if it can.
func (e *engine) leafOf(i int) *leaf {
	end := e.t.find(e.roots[i], &e.w)
	if end == 0 {
		end = e.miss(i)
	}
	return e.t.leaves[end&^leafBit]
}

// miss runs the interpreter.
func (e *engine) miss(i int) uint32 {
	in := e.m.instances[i]
	e.r.start(&e.w, false)
	l := e.perform(in)
	end := e.t.leaf(l)
	e.t.insert(&e.roots[i], e.r.log, end)
	return end
}

// perform interprets an instance, and judges the step as it is without reactions.
func (e *engine) perform(in *instance) leaf {
	r := e.r
	do, kind := e.decide(in)
	if kind != enabled {
		return leaf{kind: kind}
	}
	r.run(do)
	if r.foreign {
		return leaf{} // tried on one component, in vain
	}
	l := leaf{kind: enabled, bad: r.bad, touch: make([]uint64, len(e.m.slots)/64+1)}
	l.writes = r.writes(l.touch)
	l.props = e.touched(l.touch)
	l.quiet = e.quiet()
	for _, p := range l.props {
		if p.prop.Kind == load.OfState && r.unchanged(p.then) {
			continue // it held before, or was found broken there
		}
		if !r.certain(p) && r.eval(p.then) == 0 {
			l.broken = append(l.broken, p)
		}
	}
	for _, p := range in.after {
		if r.yes(p.from) && r.eval(p.then) == 0 {
			l.broken = append(l.broken, p)
		}
	}
	return l
}

// decide finds what an instance runs on the words, if it is enabled.
func (e *engine) decide(in *instance) ([]*gstmt, leafKind) {
	r := e.r
	r.assume(in.facts)
	for _, g := range in.rest {
		if r.eval(g) == 0 {
			return nil, disabled
		}
	}
	for _, ref := range in.refuse {
		if r.eval(ref.when) != 0 {
			if ref.do == nil {
				return nil, refused
			}
			return ref.do, enabled
		}
	}
	return in.do, enabled
}

// quiet reports whether no reaction can fire after what was just run: none could
// before, and what each waits for has not become true.
func (e *engine) quiet() bool {
	for _, re := range e.m.reactions {
		if !e.r.asleep(re.when) {
			return false
		}
	}
	return true
}

// touched lists the properties that a change of these slots may break.
func (e *engine) touched(touch []uint64) []*gprop {
	var out []*gprop
	any := false
	for _, t := range touch {
		any = any || t != 0
	}
	for _, p := range e.m.props {
		hit := any && !p.always
		for k, t := range touch {
			hit = hit || t&p.support[k] != 0
		}
		if hit {
			out = append(out, p)
		}
	}
	return out
}

// apply carries out the writes of l on the loaded state. It gives the code of the
// state after it, reactions included, before replicas are exchanged; the changed
// components are in e.moved. The leaf of the reactions is nil if they changed nothing.
func (e *engine) apply(l *leaf) (code uint64, settled *leaf) {
	e.moved = e.moved[:0]
	if !l.quiet {
		return e.applySettled(l)
	}
	for i := range l.writes {
		w := &l.writes[i]
		c := int(w.comp)
		if word := e.w[c]&^w.clear | w.set; word != e.w[c] {
			e.moved = append(e.moved, move{c, e.number(c, word)})
		}
	}
	return e.combine(), nil
}

// combine gives the code of the loaded state with the moved components.
func (e *engine) combine() uint64 {
	code := e.code
	for _, mv := range e.moved {
		p := &e.place[mv.comp&(maxComps-1)]
		code = code&^(p.mask<<(p.shift&63)) | uint64(mv.idx)<<(p.shift&63)
	}
	return code
}

func (e *engine) applySettled(l *leaf) (uint64, *leaf) {
	n := len(e.compOf)
	copy(e.mid[:n], e.w[:n])
	for _, w := range l.writes {
		e.mid[w.comp] = e.mid[w.comp]&^w.clear | w.set
	}
	react := ^uint64(0)
	for c := range n {
		k := e.idx[c]
		if e.mid[c] != e.w[c] {
			k = e.number(c, e.mid[c])
		}
		react &= e.react[c][k]
	}
	var settled *leaf
	if react != 0 {
		end := e.t.find(e.settle, &e.mid)
		if end == 0 {
			end = e.react0()
		}
		settled = e.t.leaves[end&^leafBit]
		for _, w := range settled.writes {
			e.mid[w.comp] = e.mid[w.comp]&^w.clear | w.set
		}
		if len(settled.writes) == 0 && !settled.bad {
			settled = nil
		}
	}
	for c := range n {
		e.w[maxComps+c] = e.mid[c]
		if e.mid[c] != e.w[c] {
			e.moved = append(e.moved, move{c, e.number(c, e.mid[c])})
		}
	}
	return e.combine(), settled
}

// maxReactions bounds what may follow one action; more means that it never ends.
const maxReactions = 1000

// react0 runs the reactions to a fixpoint: always the first one that can fire.
func (e *engine) react0() uint32 {
	r := e.r
	r.start(&e.mid, false)
	fired := 0
	for again := true; again && fired < maxReactions; {
		again = false
		for _, re := range e.m.reactions {
			if r.eval(re.when) != 0 {
				r.run(re.do)
				fired++
				again = true
				break
			}
		}
	}
	l := leaf{kind: enabled, bad: r.bad || fired == maxReactions, touch: make([]uint64, len(e.m.slots)/64+1)}
	l.writes = r.writes(l.touch)
	l.props = e.touched(l.touch)
	end := e.t.leaf(l)
	e.t.insert(&e.settle, r.log, end)
	return end
}

// holds evaluates a condition on the loaded state, from memory if it can.
func (e *engine) holds(root *uint32, g *gnode) bool {
	return g == nil || e.condition(root, g, false)
}

// condition evaluates g on the loaded state, or on it and the state after it.
func (e *engine) condition(root *uint32, g *gnode, pair bool) bool {
	end := e.t.find(*root, &e.w)
	if end == 0 {
		e.r.start(&e.w, pair)
		end = leafBit
		if e.r.eval(g) != 0 {
			end |= 1
		}
		e.t.insert(root, e.r.log, end)
	}
	return end&1 != 0
}

// breaks reports whether the step to the words after breaks p.
func (e *engine) breaks(p *gprop) bool {
	if p.cond == nil {
		p.cond = p.then
		if p.from != nil {
			p.cond = junction(gAny, negate(p.from), p.then)
		}
	}
	return !e.condition(&p.root, p.cond, true)
}
