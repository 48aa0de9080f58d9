// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/kvxfer/kvxfer/fsm/expr"
	"github.com/kvxfer/kvxfer/fsm/load"
)

// mutation is one change of a system, in place.
type mutation struct {
	what  string
	file  string // "" is the system's own
	pos   load.Pos
	apply func() (undo func())
}

// mutations lists every change, in the order of the spec.
func mutations(sys *load.System) []mutation {
	var out []mutation
	for _, a := range sys.Actions {
		if a.Environment {
			continue
		}
		what := "action " + a.Name
		out = append(out, conditions(what, a.Pos, &a.When)...)
		for i, r := range a.Refuse {
			out = append(out, mutation{what: fmt.Sprintf("%s: without refusal %s: %s", what, r.Kind, r.When), pos: r.Pos, apply: func() func() {
				old := a.Refuse
				a.Refuse = append(append([]*load.Refusal{}, old[:i]...), old[i+1:]...)
				return func() { a.Refuse = old }
			}})
			out = append(out, statements(what, r.Pos, &r.Do)...)
		}
		out = append(out, statements(what, a.Pos, &a.Do)...)
	}
	for i, r := range sys.Reactions {
		what := "reaction " + r.Name
		out = append(out, mutation{what: "without " + what, pos: r.Pos, apply: func() func() {
			old := sys.Reactions
			sys.Reactions = append(append([]*load.Reaction{}, old[:i]...), old[i+1:]...)
			return func() { sys.Reactions = old }
		}})
		out = append(out, conditions(what, r.Pos, &r.When)...)
		out = append(out, statements(what, r.Pos, &r.Do)...)
	}
	for _, p := range sys.Procs {
		out = append(out, statements("procedure "+p.Name, sys.ProcPos[p], &p.Body)...)
	}
	return append(out, cells(sys)...)
}

// conditions leaves out each part of p && q && r.
func conditions(what string, pos load.Pos, when **expr.Node) []mutation {
	var out []mutation
	if *when == nil {
		return nil
	}
	var rec func(at **expr.Node)
	rec = func(at **expr.Node) {
		n := *at
		if n.Op == expr.And {
			rec(&n.Args[0])
			rec(&n.Args[1])
			return
		}
		out = append(out, mutation{what: fmt.Sprintf("%s: without condition %s", what, n), pos: pos, apply: func() func() {
			*at = &expr.Node{Op: expr.Const, Type: expr.BoolType, Val: 1}
			return func() { *at = n }
		}})
	}
	rec(when)
	return out
}

// statements leaves out each statement, those inside others too.
func statements(what string, pos load.Pos, list *[]*expr.Stmt) []mutation {
	var out []mutation
	for i, s := range *list {
		if s.Op == expr.Emit {
			continue // effects are no part of the state
		}
		if s.Op != expr.Offer || s.Local == nil {
			out = append(out, mutation{what: fmt.Sprintf("%s: without %s", what, s), pos: pos, apply: func() func() {
				old := *list
				*list = append(append([]*expr.Stmt{}, old[:i]...), old[i+1:]...)
				return func() { *list = old }
			}})
		}
		if s.Op == expr.If {
			out = append(out, mutation{what: fmt.Sprintf("%s: always: %s", what, s), pos: pos, apply: func() func() {
				old := s.Value
				s.Value = &expr.Node{Op: expr.Const, Type: expr.BoolType, Val: 1}
				return func() { s.Value = old }
			}})
		}
		out = append(out, statements(what, pos, &s.Body)...)
		out = append(out, statements(what, pos, &s.Else)...)
	}
	return out
}

// cells changes each cell of each machine: a move stays, goes elsewhere; what stays
// gets another result.
func cells(sys *load.System) []mutation {
	var out []mutation
	seen := map[*expr.Machine]bool{}
	for _, v := range sys.Vars {
		m := v.Machine
		if m == nil || seen[m] {
			continue
		}
		seen[m] = true
		for s, row := range m.To {
			for e, to := range row {
				file, pos := cellPlace(sys, m.Name, s, e)
				what := fmt.Sprintf("machine %s: %s in %s", m.Name, m.Event.Values[e], m.State.Values[s])
				set := func(text string, to, result int) {
					out = append(out, mutation{what: what + " " + text, file: file, pos: pos, apply: func() func() {
						oldTo, oldResult := m.To[s][e], m.Result[s][e]
						m.To[s][e], m.Result[s][e] = to, result
						return func() { m.To[s][e], m.Result[s][e] = oldTo, oldResult }
					}})
				}
				const moved, ignored, rejected, conflict = 0, 2, 3, 4
				switch r := m.Result[s][e]; {
				case r == moved:
					set("is ignored", s, ignored)
					for other := range m.State.Values {
						if other != to && other != s {
							set("goes to "+m.State.Values[other], other, moved)
						}
					}
				case r == conflict:
					set("is ignored", s, ignored)
				case r == rejected:
					set("is a conflict", s, conflict)
				default:
					set("is a conflict", s, conflict)
				}
			}
		}
	}
	return out
}

// cellPlace is where a cell stands.
func cellPlace(sys *load.System, machine string, state, event int) (file string, pos load.Pos) {
	for _, m := range sys.Machines {
		if m.Name == machine {
			return m.Source.File, m.Cells[state][event].Pos
		}
	}
	return "", sys.Pos
}
