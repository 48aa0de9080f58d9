// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm"
)

// Never is a rule that a machine's matrix has to keep: no path leads from one of
// some states to one of others, but over certain events.
type Never struct {
	From    []int  // indexes of states
	To      []int  // indexes of states
	Without []int  // indexes of events that may make the way; none: there is no way
	Doc     string // why
	Pos     Pos
}

// readNever reads the rules. They are judged only if all cells could be read.
func (m *Machine) readNever(r *reader, n *yaml.Node, complete bool) {
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.errorf(n, "never: expected a list of rules, found %s", describe(n))
		return
	}
	for _, item := range n.Content {
		before := len(*r.errs)
		f := r.fields(item, "never", "from!", "to!", "without", "doc!")
		rule := Never{From: m.readStateSet(r, "from", f["from"]), To: m.readStateSet(r, "to", f["to"]),
			Doc: r.text(f["doc"], "never: doc"), Pos: at(item)}
		events := m.EventEnum()
		for _, e := range r.list(f["without"], "never: without") {
			i, ok := events.Lookup(e.Value)
			if !ok {
				r.errorf(e, "never: unknown event %s; expected one of %s", e.Value, events.names())
				continue
			}
			rule.Without = append(rule.Without, i)
		}
		m.Never = append(m.Never, rule)
		if !complete || len(*r.errs) > before {
			continue
		}
		if path := m.counterexample(&rule); path != "" {
			r.errorf(item, "never: the matrix breaks this rule: %s", path)
		}
	}
}

// readStateSet reads states and tags; a tag stands for all states that have it.
func (m *Machine) readStateSet(r *reader, what string, n *yaml.Node) []int {
	states := m.StateEnum()
	var out []int
	for _, e := range r.list(n, "never: "+what) {
		i, isState := states.Lookup(e.Value)
		switch {
		case isState:
			out = append(out, i)
		case slices.Contains(m.Tags(), e.Value):
			for i, s := range m.States {
				if slices.Contains(s.Tags, e.Value) {
					out = append(out, i)
				}
			}
		default:
			r.errorf(e, "never: unknown state or tag %s; expected one of %s", e.Value, strings.Join(append([]string{states.names()}, m.Tags()...), ", "))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// counterexample is the shortest path that breaks a rule, or "".
func (m *Machine) counterexample(rule *Never) string {
	type step struct {
		state int
		path  string
	}
	var queue []step
	seen := make([]bool, len(m.States))
	for _, s := range rule.From {
		queue = append(queue, step{s, m.States[s].Name})
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for e, c := range m.Cells[at.state] {
			if c.Result != fsm.Moved || slices.Contains(rule.Without, e) {
				continue
			}
			path := at.path + " " + m.Events[e].Name + " " + m.States[c.To].Name
			if slices.Contains(rule.To, c.To) {
				return path
			}
			if !seen[c.To] {
				seen[c.To] = true
				queue = append(queue, step{c.To, path})
			}
		}
	}
	return ""
}
