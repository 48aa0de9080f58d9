// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package interpret

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// State is a system with the values of its variables.
type State struct {
	sys    *load.System
	counts map[*expr.IndexSet]int
	values map[*expr.Var][]int // by replica
	env    int
}

// New returns the first state of a system with a number of members in each set of
// replicas, in its first environment. Variables of which any value may be the first
// have their lowest; Set gives them others.
func New(sys *load.System, replicas int) *State {
	s := &State{sys: sys, counts: map[*expr.IndexSet]int{}, values: map[*expr.Var][]int{}}
	for _, set := range sys.Sets {
		s.counts[set] = min(replicas, set.Max)
	}
	for _, v := range sys.Vars {
		n := 1
		if v.Over != nil {
			n = s.counts[v.Over]
		}
		s.values[v] = slices.Repeat([]int{v.Init}, n)
	}
	return s
}

// Clone returns a copy that shares nothing that changes.
func (s *State) Clone() *State {
	c := *s
	c.values = make(map[*expr.Var][]int, len(s.values))
	for v, list := range s.values {
		c.values[v] = slices.Clone(list)
	}
	return &c
}

// Get returns the value of a variable in the words of the spec; replica counts from
// 0 and is 0 for a single variable.
func (s *State) Get(name string, replica int) (string, error) {
	v, err := s.variable(name, replica)
	if err != nil {
		return "", err
	}
	return v.Type.Format(s.values[v][replica]), nil
}

// Set gives a variable a value in the words of the spec.
func (s *State) Set(name string, replica int, value string) error {
	v, err := s.variable(name, replica)
	if err != nil {
		return err
	}
	x, err := parse(v.Type, value)
	if err != nil {
		return fmt.Errorf("interpret: variable %s: %w", name, err)
	}
	s.values[v][replica] = x
	return nil
}

func (s *State) variable(name string, replica int) (*expr.Var, error) {
	for _, v := range s.sys.Vars {
		if v.Name != name {
			continue
		}
		if replica < 0 || replica >= len(s.values[v]) {
			return nil, fmt.Errorf("interpret: variable %s: replica %d is not one of %d", name, replica, len(s.values[v]))
		}
		return v, nil
	}
	return nil, fmt.Errorf("interpret: variable %s: system %s has none", name, s.sys.Name)
}

// parse reads a value in the words of the spec; replicas count from 1, as in traces.
func parse(t *expr.Type, text string) (int, error) {
	switch t.Kind {
	case expr.Bool:
		if text == "true" || text == "false" {
			return map[string]int{"false": 0, "true": 1}[text], nil
		}
	case expr.Enum:
		if x, ok := t.Lookup(text); ok {
			return x, nil
		}
	case expr.Int:
		if x, err := strconv.Atoi(text); err == nil && x >= t.Lo && x <= t.Hi {
			return x, nil
		}
	case expr.Index:
		if x, err := strconv.Atoi(text); err == nil && x >= 1 && x <= t.Over.Max {
			return x - 1, nil
		}
	case expr.Set:
		return parseSet(t, text)
	}
	return 0, fmt.Errorf("%q is no value of %s", text, t)
}

// parseSet reads {1,3}.
func parseSet(t *expr.Type, text string) (int, error) {
	for x := range 1 << min(t.Over.Max, 16) {
		if t.Format(x) == text {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%q is no value of %s", text, t)
}

// Holds reports whether a condition that the spec defines, without parameters, is true.
func (s *State) Holds(name string) (bool, error) {
	for _, d := range s.sys.Defs {
		if d.Name == name && len(d.Params) == 0 && d.Body.Type.Kind == expr.Bool {
			r := &run{State: s, locals: map[*expr.Local]int{}}
			yes := r.eval(d.Body) != 0
			return yes, r.err
		}
	}
	return false, fmt.Errorf("interpret: system %s defines no condition %s without parameters", s.sys.Name, name)
}
