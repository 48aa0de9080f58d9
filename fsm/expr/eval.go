// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

// State is what an expression is evaluated in.
type State interface {
	// Read returns the value of a variable, of this member if it is replicated, now
	// or before the step.
	Read(v *Var, member int, old bool) int
	// Members is the number of members of a set.
	Members(s *IndexSet) int
}

// Eval evaluates a typed expression as it stands, without locals of its own. It is
// plain rather than fast: what compiles expressions is compared with it.
func Eval(n *Node, s State) int {
	return (&evaluation{s: s, locals: map[*Local]int{}}).eval(n, false)
}

type evaluation struct {
	s      State
	locals map[*Local]int
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (e *evaluation) eval(n *Node, old bool) int {
	switch n.Op {
	case Const:
		return n.Val
	case ReadLocal:
		return e.locals[n.Local]
	case ReadVar:
		member := 0
		if len(n.Args) > 0 {
			member = e.eval(n.Args[0], old)
		}
		return e.s.Read(n.Var, member, old || n.Old)
	case Not:
		return 1 - e.eval(n.Args[0], old)
	case And:
		return truth(e.eval(n.Args[0], old) != 0 && e.eval(n.Args[1], old) != 0)
	case Or:
		return truth(e.eval(n.Args[0], old) != 0 || e.eval(n.Args[1], old) != 0)
	case In:
		return truth(n.Mask>>e.eval(n.Args[0], old)&1 != 0)
	case Call:
		inner := &evaluation{s: e.s, locals: map[*Local]int{}}
		for i, p := range n.Def.Params {
			inner.locals[p] = e.eval(n.Args[i], old)
		}
		return inner.eval(n.Def.Body, old || n.Old)
	case Decide:
		at := 0
		for _, a := range n.Args {
			at = at*a.Type.Size(0) + e.eval(a, old)
		}
		return n.Output.Answers[at]
	case All, Any, Count:
		return e.quantifier(n, old)
	}
	return n.binary(e.eval(n.Args[0], old), e.eval(n.Args[1], old))
}

// binary computes an operation of two values.
func (n *Node) binary(x, y int) int {
	switch n.Op {
	case Eq:
		return truth(x == y)
	case Ne:
		return truth(x != y)
	case Lt:
		return truth(x < y)
	case Le:
		return truth(x <= y)
	case Gt:
		return truth(x > y)
	case Ge:
		return truth(x >= y)
	case Add:
		return x + y
	case Sub:
		return x - y
	case Min:
		return min(x, y)
	case Max:
		return max(x, y)
	case Has:
		return truth(x>>y&1 != 0)
	}
	return n.Args[0].Var.Machine.Result[x][y] // Would
}

func (e *evaluation) quantifier(n *Node, old bool) int {
	in, holds := 0, 0
	for i := range e.s.Members(n.Over) {
		e.locals[n.Local] = i
		if len(n.Args) > 1 && e.eval(n.Args[1], old) == 0 {
			continue
		}
		in++
		holds += e.eval(n.Args[0], old)
	}
	switch n.Op {
	case Count:
		return holds
	case Any:
		return truth(holds > 0)
	}
	return truth(holds == in)
}
