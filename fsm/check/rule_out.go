// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// prepare finds out what a new word of a component rules out, whatever the others.
func (e *engine) prepare(comp int, word uint32) {
	e.w[maxComps+comp], word = word, e.w[maxComps+comp]
	e.part.know(e.m, comp, e.w[maxComps:], true)
	e.part.same = true
	mask := make([]uint64, e.stride)
	for i, in := range e.m.instances {
		if in.possible(e.part) && !e.idle(in, comp) {
			mask[i>>6] |= 1 << (i & 63)
		}
	}
	e.newRow(mask)
	var react uint64
	for i, r := range e.m.reactions {
		if v, ok := eval3(r.when, e.part); !ok || v != 0 {
			react |= 1 << min(i, 63)
		}
	}
	e.react[comp] = append(e.react[comp], react)
	e.part.know(e.m, comp, e.w[maxComps:], false)
	e.w[maxComps+comp] = word
}

// possible reports whether the instance may be enabled in a state known in part.
func (in *instance) possible(p *partial) bool {
	for _, list := range [][]*gnode{in.single, in.rest} {
		for _, g := range list {
			if v, ok := eval3(g, p); ok && v == 0 {
				return false
			}
		}
	}
	return true
}

// idle reports whether the word of one component tells that the instance, if it is
// enabled, changes nothing and breaks nothing: then it need not run.
func (e *engine) idle(in *instance, comp int) bool {
	if len(in.rest) > 0 {
		return false
	}
	word := e.w[comp]
	e.w[comp] = e.w[maxComps+comp]
	e.r.limit = comp
	e.r.start(&e.w, false)
	idle := e.changesNothing(in)
	e.r.limit = -1
	e.w[comp] = word
	return idle && !e.r.foreign
}

// changesNothing runs an instance, and reports whether it writes nothing new and
// breaks nothing.
func (e *engine) changesNothing(in *instance) bool {
	r := e.r
	do, kind := e.decide(in)
	if kind != enabled {
		return true
	}
	r.run(do)
	if r.foreign || r.bad || r.changed() {
		return false
	}
	for _, p := range in.after {
		if r.yes(p.from) && r.eval(p.then) == 0 {
			return false
		}
	}
	return true
}
