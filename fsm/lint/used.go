// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// usedValues are the values of enums that systems name by themselves, by the name of
// the type: an answer that no rule of a table gives has its use there.
type usedValues map[string]uint64

func valuesInSystems(set *load.Set) usedValues {
	u := usedValues{}
	for _, sp := range set.Specs {
		if sys, ok := sp.(*load.System); ok {
			u.system(sys)
		}
	}
	return u
}

func (u usedValues) has(t *load.Table, e *load.Enum, i int) bool {
	return u[t.Name+"."+e.Name]>>i&1 != 0
}

func (u usedValues) system(sys *load.System) {
	for _, v := range sys.Vars {
		if v.Type.Kind == expr.Enum && !v.InitAny {
			u[v.Type.Name] |= 1 << v.Init
		}
	}
	for _, d := range sys.Defs {
		expr.Walk(d.Body, u.node)
	}
	for _, p := range sys.Procs {
		u.statements(p.Body)
	}
	for _, a := range sys.Actions {
		expr.Walk(a.When, u.node)
		u.statements(a.Do)
		for _, r := range a.Refuse {
			expr.Walk(r.When, u.node)
			u.statements(r.Do)
		}
	}
	for _, r := range sys.Reactions {
		expr.Walk(r.When, u.node)
		u.statements(r.Do)
	}
}

func (u usedValues) node(n *expr.Node) {
	if n.Op == expr.Const && n.Type.Kind == expr.Enum && n.Val >= 0 {
		u[n.Type.Name] |= 1 << n.Val
	}
}

func (u usedValues) statements(list []*expr.Stmt) {
	for _, s := range list {
		expr.Walk(s.Value, u.node)
		for _, a := range s.Args {
			expr.Walk(a, u.node)
		}
		u.statements(s.Body)
		u.statements(s.Else)
	}
}
