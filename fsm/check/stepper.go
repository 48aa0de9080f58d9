// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// Stepper runs one system by hand, action by action, as its spec says: the oracle of
// generated code. Assumptions about the outside world are not enforced.
type Stepper struct {
	m     *model
	gr    *grounder
	words [2 * maxComps]uint32
}

// NewStepper returns a system in its first state. start gives values to the variables
// that the spec leaves open, by name; those not named get their lowest value.
func NewStepper(sys *load.System, replicas int, start map[string]int) (*Stepper, error) {
	m := &model{sys: sys, counts: map[*expr.IndexSet]int{}, whole: true}
	for _, s := range sys.Sets {
		m.counts[s] = min(replicas, s.Max)
	}
	if err := m.layout(); err != nil {
		return nil, err
	}
	st := &Stepper{m: m, gr: &grounder{m: m}}
	for i := range m.slots {
		s := &m.slots[i]
		v := s.v.Init
		if given, ok := start[s.v.Name]; ok && s.v.InitAny {
			v = given
		}
		s.put(st.words[:], v)
	}
	for _, r := range sys.Reactions {
		st.gr.reaction(r)
	}
	return st, st.run(nil)
}

// Do runs an action. Arguments are values as the checker counts them: an enum's value
// by its place in the enum, a member from 0, a set as a bit mask. The result is the
// kind with which the call is refused, or "".
func (st *Stepper) Do(action string, args ...int) (refused string, err error) {
	for _, a := range st.m.sys.Actions {
		if a.Name == action {
			return st.do(a, args)
		}
	}
	return "", &ArgumentError{st.m.sys.Name, "no action " + action}
}

func (st *Stepper) do(a *load.Action, args []int) (refused string, err error) {
	if len(args) != len(a.Params) {
		return "", &ArgumentError{st.m.sys.Name, fmt.Sprintf("%s takes %d arguments, found %d", a.Name, len(a.Params), len(args))}
	}
	st.gr.locals = 0
	b := bind(a.Params, args)
	r := newRunner(st.m)
	r.start(&st.words, false)
	if a.When != nil && r.eval(st.gr.expr(a.When, b, false)) == 0 {
		return "reject", nil
	}
	for _, ref := range a.Refuse {
		if r.eval(st.gr.expr(ref.When, b, false)) != 0 {
			if ref.Do == nil {
				return ref.Kind, nil
			}
			return ref.Kind, st.run(st.gr.stmts(ref.Do, b))
		}
	}
	return "", st.run(append(st.gr.stmts(a.Do, b), st.gr.stmts(a.World, b)...))
}

// run executes statements and then the reactions.
func (st *Stepper) run(list []*gstmt) error {
	r := newRunner(st.m)
	r.start(&st.words, false)
	r.run(list)
	fired := 0
	for again := true; again && fired < maxReactions; {
		again = false
		for _, re := range st.m.reactions {
			if r.eval(re.when) != 0 {
				r.run(re.do)
				fired++
				again = true
				break
			}
		}
	}
	if r.bad || fired == maxReactions {
		return &ArgumentError{st.m.sys.Name, "an assignment left its range, or reactions have no end"}
	}
	for _, w := range r.writes(make([]uint64, len(st.m.slots)/64+1)) {
		st.words[w.comp] = st.words[w.comp]&^w.clear | w.set
	}
	return nil
}

// Get returns the value of a variable, of the member with this number if it is
// replicated.
func (st *Stepper) Get(v *expr.Var, member int) int {
	return st.m.slots[st.m.slotOf[v][member]].get(st.words[:])
}
