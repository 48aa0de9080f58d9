// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret

import "github.com/kvxfer/kvxfer/fsm/expr"

// replica is the index of a variable's element.
func (r *run) replica(n *expr.Node) int {
	if len(n.Args) == 0 {
		return 0
	}
	return r.eval(n.Args[0])
}

func (r *run) eval(n *expr.Node) int {
	switch n.Op {
	case expr.Const:
		return n.Val
	case expr.ReadVar:
		return r.read(n)
	case expr.ReadLocal:
		return r.locals[n.Local]
	case expr.Not:
		return 1 - r.eval(n.Args[0])
	case expr.And:
		return truth(r.eval(n.Args[0]) != 0 && r.eval(n.Args[1]) != 0)
	case expr.Or:
		return truth(r.eval(n.Args[0]) != 0 || r.eval(n.Args[1]) != 0)
	case expr.In:
		return int(n.Mask >> r.eval(n.Args[0]) & 1)
	case expr.All, expr.Any, expr.Count:
		return r.quantify(n)
	case expr.Call:
		return r.define(n)
	case expr.Decide:
		return r.decide(n)
	}
	return r.binary(n, r.eval(n.Args[0]), r.eval(n.Args[1]))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *run) binary(n *expr.Node, x, y int) int {
	switch n.Op {
	case expr.Eq:
		return truth(x == y)
	case expr.Ne:
		return truth(x != y)
	case expr.Lt:
		return truth(x < y)
	case expr.Le:
		return truth(x <= y)
	case expr.Gt:
		return truth(x > y)
	case expr.Ge:
		return truth(x >= y)
	case expr.Add:
		return x + y
	case expr.Sub:
		return x - y
	case expr.Min:
		return min(x, y)
	case expr.Max:
		return max(x, y)
	case expr.Has:
		return x >> y & 1
	case expr.Would:
		return n.Args[0].Var.Machine.Result[x][y]
	}
	r.fail("operation %d is not known", n.Op)
	return 0
}

func (r *run) read(n *expr.Node) int {
	if n.Old {
		r.fail("old.%s: a call has no state before it", n.Var.Name)
		return 0
	}
	list, known := r.values[n.Var]
	if !known { // the name of the environment
		return r.env
	}
	return list[r.replica(n)]
}

func (r *run) quantify(n *expr.Node) int {
	yes, total := 0, 0
	for rep := range r.counts[n.Over] {
		r.locals[n.Local] = rep
		if len(n.Args) > 1 && r.eval(n.Args[1]) == 0 {
			continue
		}
		total++
		yes += truth(r.eval(n.Args[0]) != 0)
	}
	switch n.Op {
	case expr.All:
		return truth(yes == total)
	case expr.Any:
		return truth(yes > 0)
	}
	return yes
}

// define evaluates a definition with its parameters set; a definition is never
// inside of itself, so its parameters are free.
func (r *run) define(n *expr.Node) int {
	args := make([]int, len(n.Args))
	for i, a := range n.Args {
		args[i] = r.eval(a)
	}
	for i, p := range n.Def.Params {
		r.locals[p] = args[i]
	}
	return r.eval(n.Def.Body)
}

func (r *run) decide(n *expr.Node) int {
	at := 0
	for _, a := range n.Args {
		at = at*a.Type.Size(0) + r.eval(a)
	}
	x := n.Output.Answers[at]
	if x < 0 {
		r.fail("the table gives no %s", n.Output.Name)
		return 0
	}
	return x
}
