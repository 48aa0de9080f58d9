// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math/bits"

	"github.com/kvxfer/kvxfer/fsm/load"
)

func (gr *grounder) property(p *load.Property, byAction map[*load.Action][]int) {
	gr.m.eachArgs(p.For, func(args []int) {
		b := bind(p.For, args)
		switch p.Kind {
		case load.Eventually:
			gr.m.goals = append(gr.m.goals, &goal{prop: p, from: gr.condition(p.From, b), then: gr.expr(p.Then, b, false)})
		case load.AfterEvent:
			for _, i := range byAction[p.Action] {
				in := gr.m.instances[i]
				eb := bind(p.Args, in.args)
				for k, v := range b {
					eb[k] = v
				}
				in.after = append(in.after, gr.part(p, gr.condition(p.From, eb), gr.expr(p.Then, eb, false)))
			}
		default:
			g := gr.expr(p.Then, b, false)
			for _, part := range gr.m.conjuncts(g) {
				if !part.is(1) {
					q := gr.part(p, nil, part)
					q.always = p.Kind == load.OfState || gr.m.stutters(q)
					gr.m.props = append(gr.m.props, q)
				}
			}
		}
	})
}

// conjuncts takes a condition apart, as far as p || q && r goes. What looks at the
// same component alone stays together.
func (m *model) conjuncts(g *gnode) []*gnode {
	if g.op == gAll {
		var out []*gnode
		for _, k := range m.grouped(g.kids) {
			if k.op != gAll {
				out = append(out, m.conjuncts(k)...)
			} else {
				out = append(out, k)
			}
		}
		return out
	}
	if g.op != gAny {
		return []*gnode{g}
	}
	for i, k := range g.kids {
		if k.op != gAll {
			continue
		}
		parts := m.grouped(k.kids)
		if len(parts) == 1 || len(parts) > 64 {
			continue
		}
		var out []*gnode
		for _, part := range parts {
			kids := append([]*gnode{}, g.kids...)
			kids[i] = part
			out = append(out, junction(gAny, kids...))
		}
		return out
	}
	return []*gnode{g}
}

// grouped joins the conditions that look at one and the same component.
func (m *model) grouped(kids []*gnode) []*gnode {
	var out []*gnode
	at := map[uint]int{}
	for _, k := range kids {
		comps := m.components(k)
		i, seen := at[comps]
		if !seen || bits.OnesCount(comps) != 1 {
			at[comps] = len(out)
			out = append(out, k)
			continue
		}
		out[i] = junction(gAll, out[i], k)
	}
	return out
}

func (gr *grounder) part(p *load.Property, from, then *gnode) *gprop {
	gr.parts++
	q := &gprop{id: gr.parts, prop: p, from: from, then: then, support: make([]uint64, len(gr.m.slots)/64+1)}
	then.slots(q.support)
	then.old(&q.old)
	return q
}

// stutters reports whether a step property holds whenever the step changes nothing
// that it speaks of, judged by the variables that it reads in the state before.
func (m *model) stutters(q *gprop) bool {
	p := newPartial(len(m.slots))
	p.same = true
	total := 1
	for _, s := range q.old {
		if !p.known[s] {
			p.known[s] = true
			total *= m.slots[s].size
		}
		if total > 1<<12 {
			return false
		}
	}
	for i := range total {
		for s := range m.slots {
			if p.known[s] {
				p.val[s], i = m.slots[s].lo+i%m.slots[s].size, i/m.slots[s].size
			}
		}
		if v, ok := eval3(q.then, p); !ok || v == 0 {
			return false
		}
	}
	return true
}
