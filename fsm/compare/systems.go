// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// part is one named thing of a system, as text.
type part struct {
	kind, name, text string
	pos              load.Pos
}

// systems compares the parts of a system by name. Nothing in a system has codes that
// others store but its own enums, whose values are numbered by their place.
func (d *differ) systems(before, after *load.System) {
	old, now := parts(before), parts(after)
	find := func(list []part, p part) (part, bool) {
		i := slices.IndexFunc(list, func(q part) bool { return q.kind == p.kind && q.name == p.name })
		if i < 0 {
			return part{}, false
		}
		return list[i], true
	}
	for _, p := range old {
		if q, ok := find(now, p); !ok {
			d.add(after.Pos, p.kind == "enum", "%s %s is gone", p.kind, p.name)
		} else if q.text != p.text {
			breaks := p.kind == "enum" && !strings.HasPrefix(q.text+",", p.text+",")
			d.add(q.pos, breaks, "%s %s was %s, is %s now", p.kind, p.name, p.text, q.text)
		}
	}
	for _, q := range now {
		if _, ok := find(old, q); !ok {
			d.add(q.pos, false, "a new %s %s: %s", q.kind, q.name, q.text)
		}
	}
}

// parts lists what a system is made of.
func parts(s *load.System) []part {
	var out []part
	add := func(pos load.Pos, kind, name, format string, args ...any) {
		out = append(out, part{kind, name, strings.TrimSpace(fmt.Sprintf(format, args...)), pos})
	}
	for _, e := range s.Enums {
		add(s.Pos, "enum", e.Name, "%s", strings.Join(e.Values, ", "))
	}
	for _, v := range s.Vars {
		over := ""
		if v.Over != nil {
			over = "[" + v.Over.Name + "]"
		}
		first := v.Type.Format(v.Init)
		if v.InitAny {
			first = "anything"
		}
		add(s.Pos, "variable", v.Name, "%s%s, at first %s", v.Type.Name, over, first)
	}
	for _, f := range s.Defs {
		add(s.Pos, "definition", f.Name, "%s", f.Body)
	}
	for _, p := range s.Procs {
		add(s.ProcPos[p], "procedure", p.Name, "%s", statements(p.Body))
	}
	for _, a := range s.Actions {
		add(a.Pos, "action", a.Name, "%s", actionText(a))
	}
	for _, r := range s.Reactions {
		add(r.Pos, "reaction", r.Name, "when %s: %s", r.When, statements(r.Do))
	}
	for _, p := range s.Properties {
		text := p.Then.String()
		if p.From != nil {
			text = "where " + p.From.String() + ": " + text
		}
		if p.Action != nil {
			text = "after " + p.Action.Name + ", " + text
		}
		if p.Refuted {
			text += " (known not to hold)"
		}
		add(p.Pos, "property", p.Name, "%s", text)
	}
	return out
}

func actionText(a *load.Action) string {
	var out []string
	if a.Assume != nil {
		out = append(out, "assume "+a.Assume.String())
	}
	if a.When != nil {
		out = append(out, "when "+a.When.String())
	}
	for _, r := range a.Refuse {
		text := "refuse " + r.Kind + " when " + r.When.String()
		if len(r.Do) > 0 {
			text += " and do " + statements(r.Do)
		}
		out = append(out, text)
	}
	if len(a.Do) > 0 {
		out = append(out, "do "+statements(a.Do))
	}
	if len(a.World) > 0 {
		out = append(out, "world "+statements(a.World))
	}
	return strings.Join(out, "; ")
}

// statements writes a list on one line.
func statements[S fmt.Stringer](list []S) string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return strings.Join(out, "; ")
}
