// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
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
			if g.do = gr.stmts(r.Do, copyOf(b)); g.do == nil {
				g.do = []*gstmt{} // it acts, by effects alone
			}
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
