// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// gop is the operation of a ground node.
type gop uint8

const (
	gConst gop = iota
	gSlot      // val is the slot
	gOld       // the slot in the state before the step
	gLocal     // val is the local
	gNot
	gAll // every kid; in order, stops at the first false
	gAny
	gCount // number of true kids
	gEq
	gNe
	gLt
	gLe
	gAdd
	gSub
	gMin
	gMax
	gIn     // kid in mask
	gWould  // result of offering kid 1 to the machine in state kid 0
	gDecide // answer of a table for the kids
)

// gnode is an expression without names: slots, constants and locals.
type gnode struct {
	op      gop
	val     int
	kids    []*gnode
	mask    uint64
	machine *expr.Machine
	output  *expr.Output
	inputs  []int // gDecide: the number of values of each kid
}

func constant(v int) *gnode { return &gnode{op: gConst, val: v} }

func (g *gnode) is(v int) bool { return g.op == gConst && g.val == v }

// binding gives locals their ground meaning.
type binding map[*expr.Local]*gnode

func (b binding) with(l *expr.Local, g *gnode) binding {
	c := make(binding, len(b)+1)
	for k, v := range b {
		c[k] = v
	}
	c[l] = g
	return c
}

// grounder turns typed trees into ground ones.
type grounder struct {
	parts  int // parts of properties so far
	m      *model
	locals int // in use in the program at hand
}

// expr grounds n. With old, every variable is that of the state before.
func (gr *grounder) expr(n *expr.Node, b binding, old bool) *gnode {
	switch n.Op {
	case expr.Const:
		return constant(n.Val)
	case expr.ReadLocal:
		return b[n.Local]
	case expr.ReadVar:
		return gr.read(n, b, old)
	case expr.Call:
		inner := binding{}
		for i, p := range n.Def.Params {
			inner[p] = gr.expr(n.Args[i], b, old)
		}
		return gr.expr(n.Def.Body, inner, old || n.Old)
	case expr.All, expr.Any, expr.Count:
		return gr.quantifier(n, b, old)
	}
	kids := make([]*gnode, len(n.Args))
	for i, a := range n.Args {
		kids[i] = gr.expr(a, b, old)
	}
	return fold(n, kids)
}

func (gr *grounder) read(n *expr.Node, b binding, old bool) *gnode {
	if n.Var.Name == "environment" && gr.m.slotOf[n.Var] == nil {
		return constant(gr.m.env)
	}
	rep := 0
	if len(n.Args) > 0 {
		rep = gr.expr(n.Args[0], b, false).val
	}
	op := gSlot
	if old || n.Old {
		op = gOld
	}
	s := gr.m.slotOf[n.Var][rep]
	return &gnode{op: op, val: s, machine: n.Var.Machine}
}

func (gr *grounder) quantifier(n *expr.Node, b binding, old bool) *gnode {
	var kids []*gnode
	for rep := range gr.m.counts[n.Over] {
		inner := b.with(n.Local, constant(rep))
		body := gr.expr(n.Args[0], inner, old)
		if len(n.Args) > 1 {
			member := gr.expr(n.Args[1], inner, old)
			if n.Op == expr.All {
				body = junction(gAny, negate(member), body)
			} else {
				body = junction(gAll, member, body)
			}
		}
		kids = append(kids, body)
	}
	switch n.Op {
	case expr.All:
		return junction(gAll, kids...)
	case expr.Any:
		return junction(gAny, kids...)
	}
	return &gnode{op: gCount, kids: kids}
}

func negate(g *gnode) *gnode {
	switch g.op {
	case gConst:
		return constant(1 - g.val)
	case gNot:
		return g.kids[0]
	}
	return &gnode{op: gNot, kids: []*gnode{g}}
}

// junction joins kids with && (gAll) or || (gAny); nested ones become one list.
func junction(op gop, kids ...*gnode) *gnode {
	unit, zero := 1, 0
	if op == gAny {
		unit, zero = 0, 1
	}
	var flat []*gnode
	for _, k := range kids {
		switch {
		case k.is(unit):
		case k.is(zero):
			return constant(zero)
		case k.op == op:
			flat = append(flat, k.kids...)
		default:
			flat = append(flat, k)
		}
	}
	switch len(flat) {
	case 0:
		return constant(unit)
	case 1:
		return flat[0]
	}
	return &gnode{op: op, kids: flat}
}

// fold builds the node of an operation; with constant kids, its value.
func fold(n *expr.Node, k []*gnode) *gnode {
	switch n.Op {
	case expr.Not:
		return negate(k[0])
	case expr.And:
		return junction(gAll, k...)
	case expr.Or:
		return junction(gAny, k...)
	case expr.Gt:
		return folded(&gnode{op: gLt, kids: []*gnode{k[1], k[0]}})
	case expr.Ge:
		return folded(&gnode{op: gLe, kids: []*gnode{k[1], k[0]}})
	case expr.Has:
		return constant(k[0].val >> k[1].val & 1)
	case expr.In:
		return folded(&gnode{op: gIn, kids: k, mask: n.Mask})
	case expr.Would:
		return folded(&gnode{op: gWould, kids: k, machine: k[0].machine})
	case expr.Decide:
		g := &gnode{op: gDecide, kids: k, output: n.Output}
		for _, a := range n.Args {
			g.inputs = append(g.inputs, a.Type.Size(0))
		}
		return folded(g)
	}
	ops := map[expr.Op]gop{expr.Eq: gEq, expr.Ne: gNe, expr.Lt: gLt, expr.Le: gLe, expr.Add: gAdd, expr.Sub: gSub, expr.Min: gMin, expr.Max: gMax}
	return folded(&gnode{op: ops[n.Op], kids: k})
}

func folded(g *gnode) *gnode {
	for _, k := range g.kids {
		if k.op != gConst {
			return g
		}
	}
	if v, ok := eval3(g, &partial{}); ok {
		return constant(v)
	}
	return g // a table without an answer: found when it runs
}

// slots adds the slots that g reads to the set.
func (g *gnode) slots(set []uint64) {
	if g == nil {
		return
	}
	if g.op == gSlot || g.op == gOld {
		set[g.val>>6] |= 1 << (g.val & 63)
	}
	for _, k := range g.kids {
		k.slots(set)
	}
}

// old adds the slots that g reads in the state before the step, each once.
func (g *gnode) old(list *[]int) {
	if g.op == gOld && !slices.Contains(*list, g.val) {
		*list = append(*list, g.val)
	}
	for _, k := range g.kids {
		k.old(list)
	}
}
