// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

func (sr *systemReader) readVariables() {
	for _, e := range sr.mapping(sr.f["variables"], "variables") {
		name, ok := sr.name(e.key, "variable", lowerName, "invalid")
		if !ok || !sr.take(e.key, "variable", name) {
			sr.spoil(e.key.Value)
			continue
		}
		what := "variable " + name
		f := map[string]*yaml.Node{"type": e.val}
		if e.val.Kind != yaml.ScalarNode {
			f = sr.fields(e.val, what, "type!", "init", "explore", "hidden", "output", "doc")
		}
		if f["type"] == nil {
			sr.spoil(name)
			continue
		}
		v := &expr.Var{Name: name, Hidden: sr.boolean(f["hidden"], what+": hidden"), Output: sr.boolean(f["output"], what+": output")}
		if f["doc"] != nil {
			v.Doc = sr.text(f["doc"], what+": doc")
		}
		if !sr.varType(v, f["type"], what) {
			sr.spoil(name)
			continue
		}
		sr.varInit(v, f["init"], what)
		sr.varExplore(v, f["explore"], what)
		sr.scope.Vars[name] = v
		sr.sys.Vars = append(sr.sys.Vars, v)
	}
	if len(sr.sys.Vars) == 0 && sr.f["variables"] != nil {
		sr.errorf(sr.f["variables"], "variables: expected at least one")
	}
}

var replicated = regexp.MustCompile(`^(.*)\[([a-z][a-z0-9_]*)\]$`)

// varType reads T, T[replicas] or set[replicas].
func (sr *systemReader) varType(v *expr.Var, n *yaml.Node, what string) bool {
	text := sr.text(n, what)
	if text == "" {
		return false
	}
	if m := replicated.FindStringSubmatch(text); m != nil {
		v.Over = sr.scope.Sets[m[2]]
		if v.Over == nil {
			sr.errorf(n, "%s: unknown replicas %q", what, m[2])
			return false
		}
		if m[1] == "set" {
			v.Set, v.Type = true, expr.BoolType
			return true
		}
		text = m[1]
	}
	v.Type = sr.typeOf(n, what, text)
	if v.Type == nil {
		return false
	}
	if v.Type.Kind == expr.Index || v.Type.Kind == expr.Set {
		sr.errorf(n, "%s: a variable cannot be %s; expected a set or a bool for each replica", what, v.Type)
		return false
	}
	if m := sr.machines[text]; m != nil {
		v.Machine = m
	}
	return true
}

func (sr *systemReader) varInit(v *expr.Var, n *yaml.Node, what string) {
	v.Init = v.Type.Low()
	if v.Machine != nil {
		v.Init = v.Machine.Initial
	}
	if n == nil {
		return
	}
	if n.Value == "any" && n.Kind == yaml.ScalarNode {
		v.InitAny = true
		return
	}
	switch v.Type.Kind {
	case expr.Bool:
		if sr.boolean(n, what+": init") {
			v.Init = 1
		}
	case expr.Int:
		v.Init = sr.integer(n, what+": init", v.Type.Lo, v.Type.Hi)
	default:
		i, ok := v.Type.Lookup(n.Value)
		if !ok {
			sr.errorf(n, "%s: init: expected a value of %s, found %s", what, v.Type, describe(n))
		}
		v.Init = i
	}
}

// varExplore reads the first values that a checker tries: code can be given every
// value of the type, but a model can not have all of a large one.
func (sr *systemReader) varExplore(v *expr.Var, n *yaml.Node, what string) {
	if n == nil {
		return
	}
	what += ": explore"
	if !v.InitAny || v.Type.Kind != expr.Int {
		sr.errorf(n, "%s: expected a number with init: any", what)
		return
	}
	t := sr.typeOf(n, what, sr.text(n, what))
	if t == nil {
		return
	}
	if t.Kind != expr.Int || t.Lo < v.Type.Lo || t.Hi > v.Type.Hi {
		sr.errorf(n, "%s: %s; expected a range within %s", what, describe(n), v.Type)
		return
	}
	v.Tried = t
}

var signature = regexp.MustCompile(`^([a-z][a-z0-9_]*)(?:\((.*)\))?$`)

var propertyKey = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*)(?:\((.*)\))?$`)

// signature reads name(a type, b type).
func (sr *systemReader) signature(n *yaml.Node, what string) (name string, params []*expr.Local, ok bool) {
	m := signature.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || m == nil || !lowerName.MatchString(m[1]) || len(m[1]) > maxName {
		sr.errorf(n, "%s: %s; expected name or name(parameter type, …)", what, describe(n))
		return "", nil, false
	}
	params, ok = sr.params(n, what+" "+m[1], m[2])
	return m[1], params, ok
}

func (sr *systemReader) params(n *yaml.Node, what, list string) (params []*expr.Local, ok bool) {
	ok = true
	if strings.TrimSpace(list) == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(list, ",") {
		name, typ, found := strings.Cut(strings.TrimSpace(part), " ")
		if !found || !lowerName.MatchString(name) {
			sr.errorf(n, "%s: bad parameter %q; expected name type", what, strings.TrimSpace(part))
			return nil, false
		}
		if other, used := sr.owner[name]; used {
			sr.errorf(n, "%s: parameter %s has the name of %s", what, name, other)
			ok = false
		}
		for _, p := range params {
			if p.Name == name {
				sr.errorf(n, "%s: parameter %s is given twice", what, name)
				ok = false
			}
		}
		t := sr.typeOf(n, what, strings.TrimSpace(typ))
		if t == nil {
			ok = false
		}
		params = append(params, &expr.Local{Name: name, Type: t})
	}
	return params, ok
}

func (sr *systemReader) readEffects() {
	for _, e := range sr.optional("effects") {
		name, params, ok := sr.signature(e.key, "effect")
		if !ok || !sr.take(e.key, "effect", name) {
			sr.spoil(e.key.Value)
			continue
		}
		sr.scope.Effects[name] = params
		sr.sys.Effects = append(sr.sys.Effects, &EffectType{Name: name, Params: params, Doc: sr.text(e.val, "effect "+name)})
	}
}

// declareTexts makes definitions and procedures known, to be typed when they are
// first used, in whatever order they stand.
func (sr *systemReader) declareTexts() {
	var order []string
	for _, e := range sr.optional("define") {
		name, params, ok := sr.signature(e.key, "definition")
		if !ok || !sr.take(e.key, "definition", name) {
			sr.spoil(e.key.Value)
			continue
		}
		d := &expr.Def{Name: name, Params: params}
		sr.scope.Defs[name] = d
		sr.sys.Defs = append(sr.sys.Defs, d)
		sr.pending[name] = func() bool { return sr.typeDef(d, e) }
		order = append(order, name)
	}
	for _, e := range sr.optional("procedures") {
		name, params, ok := sr.signature(e.key, "procedure")
		if !ok || !sr.take(e.key, "procedure", name) {
			sr.spoil(e.key.Value)
			continue
		}
		p := &expr.Proc{Name: name, Params: params}
		sr.scope.Procs[name] = p
		sr.sys.Procs = append(sr.sys.Procs, p)
		sr.sys.ProcPos[p] = at(e.key)
		sr.pending[name] = func() bool {
			p.Body = sr.stmts(e.val, "procedure "+name, &expr.Scope{Locals: params, Hidden: true})
			p.Hidden = expr.Hidden(p.Body)
			return p.Body != nil
		}
		order = append(order, name)
	}
	for _, name := range order {
		sr.need(name)
	}
	if n := sr.f["initially"]; n != nil {
		sr.sys.Initially = sr.expression(n, "initially", expr.BoolType, &expr.Scope{Hidden: true})
	}
}

func (sr *systemReader) typeDef(d *expr.Def, e entry) bool {
	// A definition may be of any type; most are conditions.
	d.Body = sr.expression(e.val, "definition "+d.Name, nil, &expr.Scope{Locals: d.Params, Hidden: true, Old: true})
	if d.Body == nil {
		return false
	}
	expr.Walk(d.Body, func(n *expr.Node) {
		d.Hidden = d.Hidden || n.Op == expr.ReadVar && n.Var.Hidden || n.Op == expr.Call && n.Def.Hidden
		d.UsesOld = d.UsesOld || n.Old || n.Op == expr.Call && n.Def.UsesOld
	})
	return true
}

// need types a definition or procedure before its first use.
func (sr *systemReader) need(name string) expr.Readiness {
	if r, asked := sr.state[name]; asked {
		return r
	}
	sr.state[name] = expr.InWork
	if sr.pending[name] == nil || !sr.pending[name]() {
		sr.state[name] = expr.Spoilt
	} else {
		sr.state[name] = expr.Ready
	}
	return sr.state[name]
}

// spoil notes that a name has a mistake, which was told: what uses it says no more.
func (sr *systemReader) spoil(name string) {
	name, _, _ = strings.Cut(name, "(")
	sr.scope.Broken[name] = true
}

// expression types the text of n in the system's scope, with the locals and the
// permissions of sc.
func (sr *systemReader) expression(n *yaml.Node, what string, want *expr.Type, sc *expr.Scope) *expr.Node {
	c, ok := sr.codeText(n, what, sr.lines)
	if !ok {
		return nil
	}
	node, mistakes := expr.Expression(c.text, want, sr.fill(sc))
	sr.report(c, what, mistakes)
	return node
}

func (sr *systemReader) stmts(n *yaml.Node, what string, sc *expr.Scope) []*expr.Stmt {
	c, ok := sr.codeText(n, what, sr.lines)
	if !ok {
		return nil
	}
	list, mistakes := expr.Statements(c.text, sr.fill(sc))
	sr.report(c, what, mistakes)
	return list
}

func (sr *systemReader) report(c *code, what string, mistakes []expr.Mistake) {
	for _, m := range mistakes {
		sr.errs.Add(sr.file, c.at(m.Off), "%s: %s", what, m.Msg)
	}
}

// fill adds the system's names to the locals and permissions of sc.
func (sr *systemReader) fill(sc *expr.Scope) *expr.Scope {
	full := sr.scope
	full.Locals, full.Old, full.Hidden = sc.Locals, sc.Old, sc.Hidden
	return &full
}
