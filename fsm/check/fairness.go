// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

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
