// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// Trace is a run that shows something.
type Trace struct {
	Start []Value // values of the first state that the spec leaves open
	Steps []Step
	// Loop is the number of the step with which the part begins that repeats for
	// ever; len(Steps) if the run rests in its last state; -1 if it just ends.
	Loop int
}

// Step is one action of a run.
type Step struct {
	Call    string // such as publish(1)
	Refused string // the kind of a refusal that changed something; else empty
	Action  *load.Action
	Args    []string
	Changes []Change
}

// Value is a variable with a value, both in the words of the spec.
type Value struct{ Name, Value string }

// Change is a variable that got another value.
type Change struct{ Name, From, To string }

// String writes the run as text, one step a line.
func (t *Trace) String() string {
	var b strings.Builder
	if len(t.Start) > 0 {
		b.WriteString("   start:")
		for _, v := range t.Start {
			fmt.Fprintf(&b, " %s = %s", v.Name, v.Value)
		}
		b.WriteByte('\n')
	}
	for i, s := range t.Steps {
		if i == t.Loop {
			b.WriteString("   for ever:\n")
		}
		fmt.Fprintf(&b, "%3d %s", i+1, s.Call)
		if s.Refused != "" {
			fmt.Fprintf(&b, "  refused: %s", s.Refused)
		}
		if len(s.Changes) == 0 {
			b.WriteString("  (nothing changes)")
		}
		for k, c := range s.Changes {
			sep := ";"
			if k == 0 {
				sep = " "
			}
			fmt.Fprintf(&b, "%s %s: %s -> %s", sep, c.Name, c.From, c.To)
		}
		b.WriteByte('\n')
	}
	if t.Loop == len(t.Steps) {
		b.WriteString("   and rests there: nothing that is fair can change anything\n")
	}
	return b.String()
}

// each calls f with every enabled action of a state, what it does, and the code of
// the state after it, before replicas are exchanged, until f returns false.
func (x *explorer) each(code uint64, f func(i int, l, settled *leaf, next uint64) bool) {
	x.load(code)
	mask := make([]uint64, x.stride)
	x.candidates(mask)
	for k, m := range mask {
		for ; m != 0; m &= m - 1 {
			i := k<<6 | bits.TrailingZeros64(m)
			l := x.leafOf(i)
			if l.kind != enabled {
				continue
			}
			next, settled := x.apply(l)
			if !f(i, l, settled, next) {
				return
			}
		}
	}
}

// path lists the codes of a shortest run to a state of the queue, walking the
// levels back.
func (x *explorer) path(state int) []uint64 {
	level := len(x.levels) - 1
	for x.levels[level] > state {
		level--
	}
	codes := []uint64{x.q.at(state)}
	for ; level > 0; level-- {
		target := codes[len(codes)-1]
		found := false
		for s := x.levels[level-1]; s < x.levels[level] && !found; s++ {
			from := x.q.at(s)
			if !x.near(from, target) {
				continue
			}
			x.each(from, func(_ int, _, _ *leaf, next uint64) bool {
				if x.canonical(next) == target {
					codes = append(codes, from)
					found = true
				}
				return !found
			})
		}
	}
	for i, j := 0, len(codes)-1; i < j; i, j = i+1, j-1 {
		codes[i], codes[j] = codes[j], codes[i]
	}
	return codes
}

// near reports whether one step could lead from a state to another: they differ in no
// more words than a step has moved, whatever the order of the replicas if that does
// not count.
func (x *explorer) near(a, b uint64) bool {
	left := x.widest
	for c := range x.compOf {
		if x.sym && x.m.comps[c].set != nil {
			break // single variables come first
		}
		if x.field(a^b, c) != 0 {
			if left--; left < 0 {
				return false
			}
		}
	}
	if !x.sym {
		return true
	}
	for _, s := range x.symmetric {
		// Both are in order: what one of them has and the other has not is skipped.
		i, j, end := s.first, s.first, s.first+s.n
		for left >= 0 && i < end && j < end {
			switch p, q := x.field(a, i), x.field(b, j); {
			case p == q:
				i++
				j++
			case p < q:
				i++
				left--
			default:
				j++
			}
		}
		left -= end - i
	}
	return left >= 0
}

// replay turns codes into steps, without exchanging replicas on the way. It
// returns the code of the last state.
func (x *explorer) replay(t *Trace, codes []uint64) uint64 {
	cur := codes[0]
	for _, target := range codes[1:] {
		x.each(cur, func(i int, _, _ *leaf, next uint64) bool {
			if next == x.code || x.canonical(next) != target {
				return true
			}
			t.Steps = append(t.Steps, x.step(i, cur, next))
			cur = next
			return false
		})
	}
	return cur
}

// trace is the run to a hit.
func (x *explorer) trace(h *hit, breaks func(i int, l, settled *leaf) bool) *Trace {
	codes := x.path(h.state)
	t := &Trace{Start: x.startValues(codes[0]), Loop: -1}
	cur := x.replay(t, codes)
	if h.inst < 0 {
		return t
	}
	x.each(cur, func(i int, l, settled *leaf, next uint64) bool {
		if !breaks(i, l, settled) {
			return true
		}
		t.Steps = append(t.Steps, x.step(i, cur, next))
		return false
	})
	return t
}

// breaker recognises the step that breaks a property.
func (x *explorer) breaker(p *load.Property) func(i int, l, settled *leaf) bool {
	return func(i int, l, settled *leaf) bool {
		if settled == nil {
			return slices.ContainsFunc(l.broken, func(q *gprop) bool { return q.prop == p })
		}
		lists := [][]*gprop{l.props, settled.props, x.m.instances[i].after}
		for _, list := range lists {
			for _, q := range list {
				if q.prop == p && x.breaks(q) {
					return true
				}
			}
		}
		return false
	}
}

// step describes what an action did between two codes.
func (x *explorer) step(i int, from, to uint64) Step {
	in := x.m.instances[i]
	s := Step{Call: in.String(), Action: in.action}
	for k, p := range in.action.Params {
		s.Args = append(s.Args, p.Type.Format(in.args[k]))
	}
	before, after := x.words(from), x.words(to)
	s.Refused = in.refused(x.m, before)
	for k := range x.m.slots {
		sl := &x.m.slots[k]
		if a, b := sl.get(before), sl.get(after); a != b {
			s.Changes = append(s.Changes, Change{sl.String(), sl.v.Type.Format(a), sl.v.Type.Format(b)})
		}
	}
	return s
}

// refused is the kind with which the action is refused where its guard holds, or "".
func (in *instance) refused(m *model, before []uint32) string {
	var words [2 * maxComps]uint32
	copy(words[:], before)
	r := newRunner(m)
	r.start(&words, false)
	for _, g := range in.refuse {
		if r.eval(g.when) != 0 {
			return g.kind
		}
	}
	return ""
}

// words unpacks a code.
func (x *explorer) words(code uint64) []uint32 {
	out := make([]uint32, maxComps)
	for c, cl := range x.compOf {
		out[c] = cl.words[x.field(code, c)].bits
	}
	return out
}

func (x *explorer) startValues(code uint64) []Value {
	var out []Value
	words := x.words(code)
	for k := range x.m.slots {
		if s := &x.m.slots[k]; s.v.InitAny {
			out = append(out, Value{s.String(), s.v.Type.Format(s.get(words))})
		}
	}
	return out
}

// String names the slot as the spec does, replicas counted from 1.
func (s *slot) String() string {
	if s.rep < 0 {
		return s.v.Name
	}
	return fmt.Sprintf("%s[%d]", s.v.Name, s.rep+1)
}
