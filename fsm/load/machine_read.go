// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm"
)

// machineNames are the Go names that every generated machine has, those of the
// self-contained form included.
var machineNames = []string{"State", "Event", "Next", "Refusal", "Machine", "MutexMachine", "Restore", "Initial", "SpecSHA256", "AllStates", "AllEvents",
	"Result", "RefusedError", "ErrRefused", "ErrRejected", "ErrConflict",
	"ResultMoved", "ResultDuplicate", "ResultIgnored", "ResultRejected", "ResultConflict"}

// stateMethods are the methods that every generated State has; tags add to them.
var stateMethods = []string{"Offer", "String", "MarshalText", "UnmarshalText", "IsValid", "IsFinal"}

// cellWords are the cells that do not move.
var cellWords = map[string]fsm.Result{
	"duplicate": fsm.Duplicate, "ignore": fsm.Ignored, "reject": fsm.Rejected, "conflict": fsm.Conflict,
}

func readMachine(r *reader, h Head, top *yaml.Node) Spec {
	h.Kind = KindMachine
	f := r.fields(top, "machine", "machine!", "doc!", "states!", "events!", "cells!", "never")
	h.Doc = r.text(f["doc"], "doc")
	m := &Machine{Head: h}
	names := r.goNames(machineNames...)
	m.readStates(r, names, f["states"])
	m.readEvents(r, names, f["events"])
	before := len(*r.errs)
	m.readCells(r, f["cells"])
	m.readNever(r, f["never"], len(*r.errs) == before && f["cells"] != nil)
	return m
}

func (m *Machine) readStates(r *reader, names *goNames, n *yaml.Node) {
	var initial *State
	tagNames := map[string]string{}
	for _, e := range r.mapping(n, "states") {
		_, named := r.name(e.key, "state", upperName, "IN_DOUBT")
		what := "state " + e.key.Value
		f := r.fields(e.val, what, "code!", "initial", "final", "tags", "doc!")
		s := State{
			Value:   r.readValue(e, "state", f),
			Initial: r.boolean(f["initial"], what+": initial"),
			Final:   r.boolean(f["final"], what+": final"),
			Tags:    m.readTags(r, tagNames, what, f["tags"]),
		}
		if named {
			names.take(s.Pos, "state", s.Name, s.Go)
		}
		if s.Initial && initial != nil {
			r.errorf(e.key, "state %s is initial, as is %s; expected one", s.Name, initial.Name)
		} else if s.Initial {
			initial = &s
		}
		m.States = append(m.States, s)
	}
	if n != nil && n.Kind == yaml.MappingNode {
		if len(m.States) == 0 {
			r.errorf(n, "states: expected at least one")
		} else if initial == nil {
			r.errorf(n, "states: none has initial: true; expected exactly one")
		}
	}
	r.uniqueCodes("state", m.StateEnum().Values)
}

// readTags reads the tags of one state. Tags are shared by states, so only two
// different tags, or a tag and a method, can collide.
func (m *Machine) readTags(r *reader, goTags map[string]string, what string, n *yaml.Node) []string {
	var tags []string
	for _, t := range r.list(n, what+": tags") {
		tag, ok := r.name(t, what+": tag", lowerName, "reusable")
		if !ok {
			continue
		}
		name := GoName(tag)
		switch other, used := goTags[strings.ToLower(name)]; {
		case slices.Contains(stateMethods, name):
			r.errorf(t, "tag %s has the Go name %s, as has the generated code", tag, name)
		case used && other != tag:
			r.errorf(t, "tag %s has the Go name %s, as has tag %s, apart from case", tag, name, other)
		case slices.Contains(tags, tag):
			r.errorf(t, "%s: tag %s is given twice", what, tag)
		default:
			goTags[strings.ToLower(name)] = tag
			tags = append(tags, tag)
		}
	}
	return tags
}

func (m *Machine) readEvents(r *reader, names *goNames, n *yaml.Node) {
	for _, e := range r.mapping(n, "events") {
		_, named := r.name(e.key, "event", lowerName, "done_ok")
		f := r.fields(e.val, "event "+e.key.Value, "code!", "doc!")
		v := r.readValue(e, "event", f)
		if _, word := cellWords[v.Name]; word {
			r.errorf(e.key, "event: name %q is a word for cells", v.Name)
		}
		if named {
			names.take(v.Pos, "event", v.Name, v.Go)
		}
		m.Events = append(m.Events, v)
	}
	if n != nil && n.Kind == yaml.MappingNode && len(m.Events) == 0 {
		r.errorf(n, "events: expected at least one")
	}
	r.uniqueCodes("event", m.Events)
}

func (m *Machine) readCells(r *reader, n *yaml.Node) {
	m.Cells = make([][]Cell, len(m.States))
	for i := range m.Cells {
		m.Cells[i] = make([]Cell, len(m.Events))
	}
	if len(m.States) == 0 || len(m.Events) == 0 {
		return
	}
	seen := make([]bool, len(m.States))
	states := m.StateEnum()
	for _, row := range r.mapping(n, "cells") {
		from, ok := states.Lookup(row.key.Value)
		if !ok {
			r.errorf(row.key, "cells: unknown state %s; expected one of %s", row.key.Value, states.names())
			continue
		}
		seen[from] = true
		m.readRow(r, from, row)
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i, s := range m.States {
		if !seen[i] {
			r.errorf(n, "cells: state %s has no row; no cell may be left out", s.Name)
		}
	}
}

func (m *Machine) readRow(r *reader, from int, row entry) {
	events := m.EventEnum()
	seen := make([]bool, len(m.Events))
	for _, c := range r.mapping(row.val, "cells of "+row.key.Value) {
		ev, ok := events.Lookup(c.key.Value)
		if !ok {
			r.errorf(c.key, "cells of %s: unknown event %s; expected one of %s", row.key.Value, c.key.Value, events.names())
			continue
		}
		seen[ev] = true
		m.Cells[from][ev] = m.readCell(r, from, row.key.Value+" "+c.key.Value, c.val)
	}
	if row.val.Kind != yaml.MappingNode {
		return
	}
	for i, e := range m.Events {
		if !seen[i] {
			r.errorf(row.key, "cells of %s: event %s has no cell; no cell may be left out", row.key.Value, e.Name)
		}
	}
}

// readCell reads WORD or {WORD: why}, where WORD is a target state or the word of
// a result.
func (m *Machine) readCell(r *reader, from int, what string, n *yaml.Node) Cell {
	cell := Cell{To: from, Pos: at(n)}
	word := n
	if n.Kind == yaml.MappingNode {
		entries := r.mapping(n, "cell "+what)
		if len(entries) != 1 {
			r.errorf(n, "cell %s: expected one answer with one reason, found %d", what, len(entries))
			return cell
		}
		word = entries[0].key
		cell.Why = r.text(entries[0].val, "cell "+what+": reason")
	}
	if word.Kind != yaml.ScalarNode {
		r.errorf(n, "cell %s: expected a state, duplicate, ignore, reject or conflict, found %s", what, describe(n))
		return cell
	}
	if res, ok := cellWords[word.Value]; ok {
		cell.Result = res
		return cell
	}
	to, ok := m.StateEnum().Lookup(word.Value)
	if !ok {
		r.errorf(word, "cell %s: expected a state, duplicate, ignore, reject or conflict, found %s", what, describe(word))
		return cell
	}
	if to == from {
		r.errorf(word, "cell %s: moves to its own state; expected duplicate or ignore, which say what that means", what)
	}
	cell.Result, cell.To = fsm.Moved, to
	return cell
}
