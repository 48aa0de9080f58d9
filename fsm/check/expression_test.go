// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math/rand/v2"
	"testing"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// pair is a step, for the plain interpreter of expressions.
type pair struct {
	m        *model
	old, new []uint32
}

func (p *pair) Read(v *expr.Var, member int, old bool) int {
	slots := p.m.slotOf[v]
	switch {
	case slots == nil:
		return p.m.env
	case old:
		return p.m.slots[slots[member]].get(p.old)
	}
	return p.m.slots[slots[member]].get(p.new)
}

func (p *pair) Members(s *expr.IndexSet) int { return p.m.counts[s] }

// FuzzExpression: whatever text types, its compiled form has the value that the plain interpreter
// gives, in random states, and what the partial evaluators are certain of is so.
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
		agreeInterpreted(t, m, n, rand.New(rand.NewPCG(seed, 1)))
	})
}

func agreeInterpreted(t *testing.T, m *model, n *expr.Node, rng *rand.Rand) {
	g := (&grounder{m: m}).expr(n, binding{}, false)
	r := newRunner(m)
	for range 20 {
		var words [2 * maxComps]uint32
		for i := range m.slots {
			s := &m.slots[i]
			s.put(words[:maxComps], s.lo+rng.IntN(s.size))
			s.put(words[maxComps:], s.lo+rng.IntN(s.size))
		}
		want := expr.Eval(n, &pair{m, words[:maxComps], words[maxComps:]})
		r.start(&words, true)
		if got := r.eval(g); got != want {
			t.Fatalf("%s is %d compiled, %d interpreted", n, got, want)
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
