// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// tree evaluates typed expressions as they stand: no unrolling, no folding, nothing
// kept. It is what the compiled form has to agree with.
type tree struct {
	m        *model
	old, new []uint32
	locals   map[*expr.Local]int
}

func (t *tree) eval(n *expr.Node, old bool) int {
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	arg := func(i int) int { return t.eval(n.Args[i], old) }
	switch n.Op {
	case expr.Const:
		return n.Val
	case expr.ReadLocal:
		return t.locals[n.Local]
	case expr.ReadVar:
		return t.read(n, old)
	case expr.Not:
		return 1 - arg(0)
	case expr.And:
		return yes(arg(0) != 0 && arg(1) != 0)
	case expr.Or:
		return yes(arg(0) != 0 || arg(1) != 0)
	case expr.Eq:
		return yes(arg(0) == arg(1))
	case expr.Ne:
		return yes(arg(0) != arg(1))
	case expr.Lt:
		return yes(arg(0) < arg(1))
	case expr.Le:
		return yes(arg(0) <= arg(1))
	case expr.Gt:
		return yes(arg(0) > arg(1))
	case expr.Ge:
		return yes(arg(0) >= arg(1))
	case expr.Add:
		return arg(0) + arg(1)
	case expr.Sub:
		return arg(0) - arg(1)
	case expr.Min:
		return min(arg(0), arg(1))
	case expr.Max:
		return max(arg(0), arg(1))
	case expr.In:
		return yes(n.Mask>>arg(0)&1 != 0)
	case expr.Has:
		return yes(arg(0)>>arg(1)&1 != 0)
	case expr.Would:
		return n.Args[0].Var.Machine.Result[arg(0)][arg(1)]
	case expr.Call:
		return t.call(n, old)
	}
	return t.quantifier(n, old)
}

func (t *tree) read(n *expr.Node, old bool) int {
	if t.m.slotOf[n.Var] == nil {
		return t.m.env
	}
	member := 0
	if len(n.Args) > 0 {
		member = t.eval(n.Args[0], old)
	}
	words := t.new
	if old || n.Old {
		words = t.old
	}
	return t.m.slots[t.m.slotOf[n.Var][member]].get(words)
}

func (t *tree) call(n *expr.Node, old bool) int {
	inner := &tree{m: t.m, old: t.old, new: t.new, locals: map[*expr.Local]int{}}
	for i, p := range n.Def.Params {
		inner.locals[p] = t.eval(n.Args[i], old)
	}
	return inner.eval(n.Def.Body, old || n.Old)
}

func (t *tree) quantifier(n *expr.Node, old bool) int {
	var in, holds uint
	for i := range t.m.counts[n.Over] {
		t.locals[n.Local] = i
		if len(n.Args) > 1 && t.eval(n.Args[1], old) == 0 {
			continue
		}
		in |= 1 << i
		if t.eval(n.Args[0], old) != 0 {
			holds |= 1 << i
		}
	}
	switch {
	case n.Op == expr.Count:
		return bits.OnesCount(holds)
	case n.Op == expr.All && holds == in, n.Op == expr.Any && holds != 0:
		return 1
	}
	return 0
}

// FuzzExpression: whatever text types, its compiled form has the value of the tree, in
// random states, and what the partial evaluators are certain of is so.
func FuzzExpression(f *testing.F) {
	set, err := load.Dir("testdata/bench")
	if err != nil {
		f.Fatal(err)
	}
	sys := set.Lookup("bench").(*load.System)
	for _, text := range []string{
		"all(i, writers, ok(i))", "implies(old.outcome != ACTIVE, outcome == old.outcome)", "!any(c, claims, c.settled && !pend)",
		"count(i, writers, touching[i] || old.ok(i)) >= 1 + count(i, writers, failed[i])", "old.all_ok == all_settled",
		"in(gate, OPEN, ABORTED) && gate != old.gate", "min(1, count(i, writers, true)) < max(2, 0 - 1)",
		"any(i, writers, any(j, writers, i != j && claims[i] == claims[j]))", "all(i, writers, would(claims[i], doubt) == conflict || claims[i] != IN_DOUBT)",
	} {
		f.Add(text, uint64(1))
	}
	m, err := build(sys, 3, 0)
	if err != nil {
		f.Fatal(err)
	}
	sc := &expr.Scope{Vars: map[string]*expr.Var{}, Defs: map[string]*expr.Def{}, Sets: map[string]*expr.IndexSet{}, Old: true, Hidden: true}
	for _, v := range sys.Vars {
		sc.Vars[v.Name] = v
	}
	for _, d := range sys.Defs {
		sc.Defs[d.Name] = d
	}
	for _, s := range sys.Sets {
		sc.Sets[s.Name] = s
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		n, mistakes := expr.Expression(text, expr.BoolType, sc)
		if (n == nil) != (len(mistakes) > 0) {
			t.Fatalf("%q: node %v, mistakes %v", text, n, mistakes)
		}
		for _, mk := range mistakes {
			if mk.Off < 0 || mk.Off > len(text) || mk.Msg == "" {
				t.Errorf("%q: mistake %+v", text, mk)
			}
		}
		if n == nil {
			return
		}
		if again, mistakes := expr.Expression(n.String(), expr.BoolType, sc); again == nil || again.String() != n.String() {
			t.Errorf("%q prints as %q, which gives %v", text, n, mistakes)
		}
		agreeWithTree(t, m, n, rand.New(rand.NewPCG(seed, 1)))
	})
}

func agreeWithTree(t *testing.T, m *model, n *expr.Node, rng *rand.Rand) {
	g := (&grounder{m: m}).expr(n, binding{}, false)
	r := newRunner(m)
	for range 20 {
		var words [2 * maxComps]uint32
		for i := range m.slots {
			s := &m.slots[i]
			s.put(words[:maxComps], s.lo+rng.IntN(s.size))
			s.put(words[maxComps:], s.lo+rng.IntN(s.size))
		}
		want := (&tree{m: m, old: words[:maxComps], new: words[maxComps:], locals: map[*expr.Local]int{}}).eval(n, false)
		r.start(&words, true)
		if got := r.eval(g); got != want {
			t.Fatalf("%s is %d compiled, %d as a tree", n, got, want)
		}
		whole := true
		for _, part := range m.conjuncts(g) {
			r.start(&words, true)
			whole = whole && r.eval(part) != 0
		}
		if whole != (want != 0) {
			t.Fatalf("%s taken apart is %v, whole %d", n, whole, want)
		}
		p := newPartial(len(m.slots))
		for i := range m.slots {
			if p.known[i] = rng.IntN(2) == 0; p.known[i] {
				p.val[i] = m.slots[i].get(words[maxComps:])
			}
		}
		if v, ok := eval3(g, p); ok && v != want {
			t.Fatalf("%s is certainly %d from a part of the state, but %d from all of it", n, v, want)
		}
	}
}
