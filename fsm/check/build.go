// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// build grounds a system with count replicas of every set.
func build(sys *load.System, count, env int) (*model, error) {
	m := &model{sys: sys, counts: map[*expr.IndexSet]int{}, env: env}
	for _, s := range sys.Sets {
		m.counts[s] = min(count, s.Max)
	}
	if err := m.layout(); err != nil {
		return nil, err
	}
	gr := &grounder{m: m}
	if sys.Initially != nil {
		m.initially = gr.expr(sys.Initially, nil, false)
	}
	byAction := map[*load.Action][]int{}
	for _, a := range sys.Actions {
		m.eachArgs(a.Params, func(args []int) {
			if in := gr.instance(a, args); in != nil {
				byAction[a] = append(byAction[a], len(m.instances))
				m.instances = append(m.instances, in)
			}
		})
	}
	for _, r := range sys.Reactions {
		gr.reaction(r)
	}
	for _, p := range sys.Properties {
		gr.property(p, byAction)
	}
	for _, f := range sys.Fair {
		gr.fairness(f, byAction)
	}
	return m, nil
}

// eachArgs calls f with every combination of values of the parameters.
func (m *model) eachArgs(params []*expr.Local, f func(args []int)) {
	args := make([]int, len(params))
	var rec func(i int)
	rec = func(i int) {
		if i == len(params) {
			f(append([]int{}, args...))
			return
		}
		t := params[i].Type
		for v := range t.Size(m.counts[t.Over]) {
			args[i] = v + t.Low()
			rec(i + 1)
		}
	}
	rec(0)
}

func bind(params []*expr.Local, args []int) binding {
	b := binding{}
	for i, p := range params {
		b[p] = constant(args[i])
	}
	return b
}

// instance grounds an action; nil if it can never happen.
func (gr *grounder) instance(a *load.Action, args []int) *instance {
	gr.locals = 0
	b := bind(a.Params, args)
	in := &instance{action: a, args: args, skipSet: -1}
	guard := junction(gAll, gr.condition(a.Assume, b), gr.condition(a.When, b))
	for _, r := range a.Refuse {
		g := gRefusal{kind: r.Kind, when: gr.expr(r.When, b, false)}
		switch {
		case r.Do != nil && !g.when.is(0):
			g.do = gr.stmts(r.Do, copyOf(b))
			in.refuse = append(in.refuse, g)
		case len(in.refuse) == 0:
			guard = junction(gAll, guard, negate(g.when))
		case !g.when.is(0):
			in.refuse = append(in.refuse, g)
		}
	}
	if guard.is(0) {
		return nil
	}
	gr.m.guard(in, guard)
	in.do = append(gr.stmts(a.Do, b), gr.stmts(a.World, b)...)
	gr.m.onlyReplica(in)
	return in
}

func (gr *grounder) condition(n *expr.Node, b binding) *gnode {
	if n == nil {
		return constant(1)
	}
	return gr.expr(n, b, false)
}

// guard takes the condition of an instance apart. What looks at one component alone
// is decided by the word of that component, before the instance runs.
func (m *model) guard(in *instance, guard *gnode) {
	parts := []*gnode{guard}
	if guard.op == gAll {
		parts = guard.kids
	}
	for _, p := range parts {
		if p.is(1) {
			continue
		}
		if bits.OnesCount(m.components(p)) != 1 {
			in.rest = append(in.rest, p)
			continue
		}
		in.single = append(in.single, p)
		if f, ok := factOf(p); ok {
			in.facts = append(in.facts, f)
		}
	}
}

// components is the bit set of the components that g reads.
func (m *model) components(g *gnode) uint {
	support := make([]uint64, len(m.slots)/64+1)
	g.slots(support)
	comps := uint(0)
	for i, s := range m.slots {
		if support[i>>6]>>(i&63)&1 != 0 {
			comps |= 1 << s.comp
		}
	}
	return comps
}

// factOf recognises conditions that leave one value.
func factOf(g *gnode) (fact, bool) {
	switch g.op {
	case gSlot:
		return fact{g.val, 1}, true
	case gNot:
		if g.kids[0].op == gSlot {
			return fact{g.kids[0].val, 0}, true
		}
	case gEq:
		for k := range 2 {
			if g.kids[k].op == gSlot && g.kids[1-k].op == gConst {
				return fact{g.kids[k].val, g.kids[1-k].val}, true
			}
		}
	case gIn:
		if g.kids[0].op == gSlot && bits.OnesCount64(g.mask) == 1 {
			return fact{g.kids[0].val, bits.TrailingZeros64(g.mask)}, true
		}
	}
	return fact{}, false
}

// onlyReplica notes the one replica that an instance is about, if it has no other
// parameter that names replicas: with equal neighbours it need not run twice.
func (m *model) onlyReplica(in *instance) {
	replicas := 0
	for i, p := range in.action.Params {
		switch p.Type.Kind {
		case expr.Set:
			replicas = 2
		case expr.Index:
			replicas++
			for _, c := range m.comps {
				if c.set == p.Type.Over {
					in.skipSet, in.skipRep = c.class, in.args[i]
				}
			}
		}
	}
	if replicas != 1 {
		in.skipSet = -1
	}
}

func (gr *grounder) reaction(r *load.Reaction) {
	add := func(b binding) {
		gr.locals = 0
		gr.m.reactions = append(gr.m.reactions, &reaction{name: r.Name, when: gr.expr(r.When, b, false), do: gr.stmts(r.Do, copyOf(b))})
	}
	if r.For == nil {
		add(nil)
		return
	}
	for rep := range gr.m.counts[r.For.Type.Over] {
		add(binding{r.For: constant(rep)})
	}
}

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
					q.id = len(gr.m.props)
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
	q := &gprop{prop: p, from: from, then: then, support: make([]uint64, len(gr.m.slots)/64+1)}
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

func (gr *grounder) fairness(f *load.Fairness, byAction map[*load.Action][]int) {
	add := func(b binding, members []int, name string) {
		g := &group{id: len(gr.m.groups), name: name, while: gr.condition(f.While, b), members: members}
		gr.m.groups = append(gr.m.groups, g)
		for _, i := range members {
			gr.m.instances[i].groups = append(gr.m.instances[i].groups, g)
		}
	}
	if f.For == nil {
		for _, fa := range f.Actions {
			for _, i := range byAction[fa.Action] {
				if gr.m.matches(fa, gr.m.instances[i], nil, 0) {
					add(nil, []int{i}, gr.m.instances[i].String())
				}
			}
		}
		return
	}
	for rep := range gr.m.counts[f.For.Type.Over] {
		var members []int
		var names []string
		for _, fa := range f.Actions {
			for _, i := range byAction[fa.Action] {
				if gr.m.matches(fa, gr.m.instances[i], f.For, rep) {
					members = append(members, i)
					names = append(names, gr.m.instances[i].String())
				}
			}
		}
		add(binding{f.For: constant(rep)}, members, strings.Join(names, " or "))
	}
}

func (m *model) matches(fa load.FairAction, in *instance, l *expr.Local, rep int) bool {
	for i, v := range fa.Values {
		if v >= 0 && in.args[i] != v {
			return false
		}
	}
	for i, arg := range fa.Args {
		if arg != nil && arg == l && in.args[i] != rep {
			return false
		}
	}
	return true
}

// String writes the instance as a call, with replicas counted from 1.
func (in *instance) String() string {
	if len(in.args) == 0 {
		return in.action.Name
	}
	var args []string
	for i, p := range in.action.Params {
		args = append(args, p.Type.Format(in.args[i]))
	}
	return fmt.Sprintf("%s(%s)", in.action.Name, strings.Join(args, ","))
}
