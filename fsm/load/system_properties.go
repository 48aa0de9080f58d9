// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// propertyName reads a name such as I7(i accessors).
func (sr *systemReader) propertyName(n *yaml.Node, seen map[string]bool) (p *Property, ok bool) {
	what := "property"
	m := propertyKey.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || m == nil {
		sr.errorf(n, "%s: %s; expected a name like I7 or I7(a accessors)", what, describe(n))
		return nil, false
	}
	if seen[m[1]] {
		sr.errorf(n, "%s %s is given twice", what, m[1])
		return nil, false
	}
	seen[m[1]] = true
	p = &Property{Name: m[1], Pos: at(n)}
	p.For, ok = sr.params(n, what+" "+m[1], m[2])
	return p, ok
}

func (sr *systemReader) readProperties() {
	seen := map[string]bool{}
	for _, e := range sr.optional("invariants") {
		p, ok := sr.propertyName(e.key, seen)
		if !ok {
			continue
		}
		what := "invariant " + p.Name
		f := sr.fields(e.val, what, "doc!", "state", "step", "after", "from", "then", "refuted")
		p.Doc = sr.text(f["doc"], what+": doc")
		p.Refuted = sr.boolean(f["refuted"], what+": refuted")
		switch {
		case f["state"] != nil && f["step"] == nil && f["after"] == nil:
			p.Kind = OfState
			p.Then = sr.condition(f["state"], what, &expr.Scope{Locals: p.For, Hidden: true})
		case f["step"] != nil && f["state"] == nil && f["after"] == nil:
			p.Kind = OfStep
			p.Then = sr.condition(f["step"], what, &expr.Scope{Locals: p.For, Hidden: true, Old: true})
		case f["after"] != nil && f["state"] == nil && f["step"] == nil:
			sr.readAfter(p, f, what)
		default:
			sr.errorf(e.key, "%s: expected one of state, step and after", what)
			continue
		}
		sr.sys.Properties = append(sr.sys.Properties, p)
	}
}

// readAfter reads {after: doubt(i), from: "...", then: "..."}: the names in the
// parentheses stand for the action's parameters.
func (sr *systemReader) readAfter(p *Property, f map[string]*yaml.Node, what string) {
	p.Kind = AfterEvent
	if f["then"] == nil {
		sr.errorf(f["after"], "%s: key \"then\" is missing", what)
		return
	}
	a, names := sr.action(f["after"], what)
	if a == nil {
		return
	}
	p.Action = a
	for i, prm := range a.Params {
		l := &expr.Local{Name: prm.Name, Type: prm.Type}
		if names != nil {
			l.Name = names[i]
		}
		p.Args = append(p.Args, l)
	}
	p.From = sr.condition(f["from"], what+": from", &expr.Scope{Locals: p.Args, Hidden: true, Old: true})
	p.Then = sr.condition(f["then"], what+": then", &expr.Scope{Locals: p.Args, Hidden: true, Old: true})
}

func (sr *systemReader) readFairness() {
	n := sr.f["fair"]
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		sr.errorf(n, "fair: expected a list, found %s", describe(n))
		return
	}
	for _, item := range n.Content {
		fa := &Fairness{Pos: at(item)}
		list := item
		var f map[string]*yaml.Node
		if item.Kind == yaml.MappingNode {
			f = sr.fields(item, "fair", "any!", "for", "while", "doc")
			list = f["any"]
		}
		if f["doc"] != nil {
			fa.Doc = sr.text(f["doc"], "fair: doc")
		}
		if f["for"] != nil {
			ps, ok := sr.params(f["for"], "fair", sr.text(f["for"], "fair: for"))
			if !ok || len(ps) != 1 || ps[0].Type.Kind != expr.Index {
				sr.errorf(f["for"], "fair: for: expected one replica, such as a accessors")
				continue
			}
			fa.For = ps[0]
		}
		sc := &expr.Scope{Hidden: true}
		if fa.For != nil {
			sc.Locals = []*expr.Local{fa.For}
		}
		fa.While = sr.condition(f["while"], "fair: while", sc)
		for _, an := range sr.list(list, "fair") {
			sr.fairAction(fa, an)
		}
		sr.sys.Fair = append(sr.sys.Fair, fa)
	}
}

// fairAction reads an action of a fairness; a name in parentheses is the replica of
// for, _ is any value, and a value of an enum is that one. Without parentheses each instance is fair by itself.
func (sr *systemReader) fairAction(fa *Fairness, n *yaml.Node) {
	a, names := sr.action(n, "fair")
	if a == nil {
		return
	}
	act := FairAction{Action: a, Args: make([]*expr.Local, len(a.Params))}
	for range a.Params {
		act.Values = append(act.Values, -1)
	}
	for i, name := range names {
		value, isValue := a.Params[i].Type.Lookup(name)
		switch {
		case name == "_":
		case isValue:
			act.Values[i] = value
		case fa.For != nil && name == fa.For.Name && a.Params[i].Type == fa.For.Type:
			act.Args[i] = fa.For
		default:
			sr.errorf(n, "fair: argument %s; expected _, the replica that for names or a value of the enum", name)
		}
	}
	if names == nil && fa.For != nil {
		sr.errorf(n, "fair: %s; expected its arguments, as for names a replica", a.Name)
	}
	fa.Actions = append(fa.Actions, act)
}

func (sr *systemReader) readLiveness() {
	seen := map[string]bool{}
	for _, p := range sr.sys.Properties {
		seen[p.Name] = true
	}
	for _, e := range sr.optional("liveness") {
		p, ok := sr.propertyName(e.key, seen)
		if !ok {
			continue
		}
		what := "liveness " + p.Name
		f := sr.fields(e.val, what, "doc!", "from", "eventually!", "refuted")
		p.Kind, p.Doc = Eventually, sr.text(f["doc"], what+": doc")
		p.Refuted = sr.boolean(f["refuted"], what+": refuted")
		sc := &expr.Scope{Locals: p.For, Hidden: true}
		p.From = sr.condition(f["from"], what+": from", sc)
		p.Then = sr.condition(f["eventually"], what+": eventually", sc)
		sr.sys.Properties = append(sr.sys.Properties, p)
	}
}

func (sr *systemReader) readSurvivors() {
	n := sr.f["survivors"]
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		sr.errorf(n, "survivors: expected a list, found %s", describe(n))
		return
	}
	for _, item := range n.Content {
		f := sr.fields(item, "survivor", "change!", "why!")
		sr.sys.Survivors = append(sr.sys.Survivors, Survivor{Change: sr.text(f["change"], "change"), Why: sr.text(f["why"], "why"), Pos: at(item)})
	}
}
