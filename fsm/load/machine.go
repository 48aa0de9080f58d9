// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"

	"github.com/kvxfer/kvxfer/fsm"
)

// Machine is a flat state machine with a full matrix: one cell for every state
// and event.
type Machine struct {
	Head
	States []State  // in the order of the file
	Events []Value  // in the order of the file
	Cells  [][]Cell // [state][event], indexes into the two above
	Never  []Never  // rules that the cells keep
}

// State is one state of a machine.
type State struct {
	Value
	Initial bool
	Final   bool     // nothing has to leave it
	Tags    []string // each becomes a predicate of the generated State type
}

// Cell is what one event does in one state.
type Cell struct {
	Result fsm.Result
	To     int    // index of the state afterwards; the same one unless Result is Moved
	Why    string // the reason, where the spec gives one
	Pos    Pos
}

// Word is how a cell reads in a spec and in matrices: the state it moves to, or
// duplicate, ignore, reject or conflict.
func (m *Machine) Word(c Cell) string {
	switch c.Result {
	case fsm.Moved:
		return m.States[c.To].Name
	case fsm.Ignored:
		return "ignore"
	case fsm.Rejected:
		return "reject"
	}
	return c.Result.String()
}

// Initial returns the index of the initial state.
func (m *Machine) Initial() int {
	return max(slices.IndexFunc(m.States, func(s State) bool { return s.Initial }), 0)
}

// Tags returns every tag in the order of first use.
func (m *Machine) Tags() []string {
	var tags []string
	for _, s := range m.States {
		for _, t := range s.Tags {
			if !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
	}
	return tags
}

// StateEnum returns the states as the enum State.
func (m *Machine) StateEnum() *Enum {
	e := &Enum{Spec: m.Name, Name: "State", Doc: "a state of the machine " + m.Name + "."}
	for _, s := range m.States {
		e.Values = append(e.Values, s.Value)
	}
	return e
}

// EventEnum returns the events as the enum Event.
func (m *Machine) EventEnum() *Enum {
	return &Enum{Spec: m.Name, Name: "Event", Values: m.Events, Doc: "an event of the machine " + m.Name + "."}
}

// resolve has nothing to do: a machine stands alone.
func (m *Machine) resolve(*Set, *reader) {}
