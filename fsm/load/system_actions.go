// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// ErrorKinds are the kinds of refusals, in the order in which they are judged
// (contract §11).
var ErrorKinds = []string{"invalid_argument", "stale", "fatal", "closed", "conflict", "reject", "refused", "capacity"}

func (sr *systemReader) readActions() {
	for _, e := range sr.mapping(sr.f["actions"], "actions") {
		name, params, ok := sr.signature(e.key, "action")
		what := "action " + name
		f := sr.fields(e.val, "action "+e.key.Value, "doc", "environment", "scenario", "assume", "when", "refuse", "do", "world")
		if !ok || !sr.take(e.key, "action", name) {
			sr.spoil(e.key.Value)
			continue
		}
		a := &Action{Name: name, Params: params, Pos: at(e.key), Environment: sr.boolean(f["environment"], what+": environment")}
		if f["doc"] != nil {
			a.Doc = sr.text(f["doc"], what+": doc")
		}
		a.Scenario = sr.templateOf(f["scenario"], what+": scenario", params)
		outside := &expr.Scope{Locals: params, Hidden: true}
		inside := &expr.Scope{Locals: params, Hidden: a.Environment}
		a.Assume = sr.condition(f["assume"], what+": assume", outside)
		a.When = sr.condition(f["when"], what+": when", inside)
		sr.readRefusals(a, f["refuse"], what, inside)
		if f["do"] != nil {
			a.Do = sr.stmts(f["do"], what+": do", inside)
		}
		if f["world"] != nil {
			a.World = sr.stmts(f["world"], what+": world", outside)
		}
		refusalActs := slices.ContainsFunc(a.Refuse, func(r *Refusal) bool { return r.Do != nil })
		if f["do"] == nil && f["world"] == nil && !refusalActs {
			sr.errorf(e.key, "%s: does nothing; expected do or world", what)
		}
		sr.sys.Actions = append(sr.sys.Actions, a)
	}
}

// condition types a condition that may be left out.
func (sr *systemReader) condition(n *yaml.Node, what string, sc *expr.Scope) *expr.Node {
	if n == nil {
		return nil
	}
	return sr.expression(n, what, expr.BoolType, sc)
}

func (sr *systemReader) readRefusals(a *Action, n *yaml.Node, what string, sc *expr.Scope) {
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		sr.errorf(n, "%s: refuse: expected a list, found %s", what, describe(n))
		return
	}
	last := -1
	for _, item := range n.Content {
		f := sr.fields(item, what+": refuse", "kind!", "when!", "why!", "do")
		if f["kind"] == nil || f["when"] == nil {
			continue
		}
		r := &Refusal{Kind: sr.text(f["kind"], what+": kind"), Pos: at(item), Why: sr.text(f["why"], what+": why")}
		rank := slices.Index(ErrorKinds, r.Kind)
		switch {
		case rank < 0:
			sr.errorf(f["kind"], "%s: unknown kind %q; expected one of %s", what, r.Kind, strings.Join(ErrorKinds, ", "))
		case rank < last:
			sr.errorf(f["kind"], "%s: %s after %s; expected the order %s", what, r.Kind, ErrorKinds[last], strings.Join(ErrorKinds, ", "))
		}
		last = max(last, rank)
		r.When = sr.condition(f["when"], what+": refuse", sc)
		if f["do"] != nil {
			r.Do = sr.stmts(f["do"], what+": refuse", sc)
		}
		a.Refuse = append(a.Refuse, r)
	}
}

func (sr *systemReader) readReactions() {
	for _, e := range sr.optional("reactions") {
		name, params, ok := sr.signature(e.key, "reaction")
		what := "reaction " + name
		f := sr.fields(e.val, "reaction "+e.key.Value, "doc", "when!", "do!")
		if !ok || !sr.take(e.key, "reaction", name) || f["when"] == nil || f["do"] == nil {
			continue
		}
		r := &Reaction{Name: name, Pos: at(e.key)}
		if len(params) > 1 || len(params) == 1 && params[0].Type.Kind != expr.Index {
			sr.errorf(e.key, "%s: expected no parameter, or one that is a replica", what)
			continue
		}
		if len(params) == 1 {
			r.For = params[0]
		}
		if f["doc"] != nil {
			r.Doc = sr.text(f["doc"], what+": doc")
		}
		sc := &expr.Scope{Locals: params}
		r.When = sr.condition(f["when"], what+": when", sc)
		r.Do = sr.stmts(f["do"], what+": do", sc)
		sr.sys.Reactions = append(sr.sys.Reactions, r)
	}
}

func (sr *systemReader) action(n *yaml.Node, what string) (a *Action, args []string) {
	name, list, hasArgs := strings.Cut(strings.TrimSuffix(n.Value, ")"), "(")
	for _, act := range sr.sys.Actions {
		if act.Name == name && n.Kind == yaml.ScalarNode {
			a = act
		}
	}
	if a == nil && sr.scope.Broken[name] {
		return nil, nil
	}
	if a == nil {
		sr.errorf(n, "%s: unknown action %s", what, describe(n))
		return nil, nil
	}
	if !hasArgs {
		return a, nil
	}
	for arg := range strings.SplitSeq(list, ",") {
		args = append(args, strings.TrimSpace(arg))
	}
	if len(args) != len(a.Params) {
		sr.errorf(n, "%s: %s takes %d arguments, found %d (_ stands for any)", what, name, len(a.Params), len(args))
		return nil, nil
	}
	return a, args
}

// unused notes variables and definitions that nothing reads: a spec that says too
// much is a spec that was not finished.
func (sr *systemReader) unused() {
	if len(*sr.errs) > 0 {
		return
	}
	for _, v := range sr.sys.Vars {
		if !v.Used && !v.Output {
			sr.errs.Add(sr.file, sr.sys.Pos, "variable %s is never read; say output: true if it is kept for the caller", v.Name)
		}
	}
}
