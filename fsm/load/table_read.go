// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tableNames are the Go names that every generated table has.
var tableNames = []string{"Decision", "Decide", "Reason", "SpecSHA256"}

func readTable(r *reader, h Head, top *yaml.Node) Spec {
	h.Kind = KindTable
	f := r.fields(top, "table", "table!", "doc!", "enums", "inputs!", "outputs!", "invalid!", "rules!")
	h.Doc = r.text(f["doc"], "doc")
	t := &Table{Head: h}
	t.readEnums(r, f["enums"])
	t.Inputs = readColumns(r, "input", f["inputs"], "type!", "doc!")
	t.Outputs = readColumns(r, "output", f["outputs"], "type!", "doc!", "optional", "keep")
	if f["invalid"] != nil {
		t.invalid = &Rule{Pos: at(f["invalid"]), then: t.readThen(r, "invalid", f["invalid"])}
	}
	t.readRules(r, f["rules"])
	return t
}

func (t *Table) readEnums(r *reader, n *yaml.Node) {
	names := r.goNames(tableNames...)
	for _, e := range r.mapping(n, "enums") {
		name, ok := r.name(e.key, "enum", typeName, "Phase")
		if !ok {
			continue
		}
		names.take(at(e.key), "enum", name, name)
		names.take(at(e.key), "list of enum", name, "All"+plural(name))
		f := r.fields(e.val, "enum "+name, "doc!", "values!")
		enum := &Enum{Spec: t.Name, Name: name, Doc: r.text(f["doc"], "enum "+name+": doc")}
		for _, ve := range r.mapping(f["values"], "values of "+name) {
			_, named := r.name(ve.key, "value of "+name, valueName, "IN_PROGRESS or in_progress")
			vf := r.fields(ve.val, "value "+ve.key.Value, "code!", "doc!")
			v := r.readValue(ve, "value", vf)
			v.Go = name + v.Go
			if named {
				names.take(v.Pos, "value", v.Name, v.Go)
			}
			enum.Values = append(enum.Values, v)
		}
		if vn := f["values"]; vn != nil && len(enum.Values) == 0 {
			r.errorf(vn, "values of %s: expected at least one", name)
		}
		r.uniqueCodes("value", enum.Values)
		t.Enums = append(t.Enums, enum)
	}
}

// plural is what All lists: AllPhases, AllStatuses.
func plural(name string) string {
	switch name[len(name)-1] {
	case 's', 'x':
		return name + "es"
	case 'y':
		return name[:len(name)-1] + "ies"
	}
	return name + "s"
}

// AllName is the Go name of the function that lists the values of e.
func (e *Enum) AllName() string { return "All" + plural(e.Name) }

func readColumns(r *reader, kind string, n *yaml.Node, keys ...string) []*Column {
	var cols []*Column
	names, params := r.goNames(), r.goNames()
	for _, e := range r.mapping(n, kind+"s") {
		name, ok := r.name(e.key, kind, lowerName, "phase")
		if !ok {
			continue
		}
		if kind == "input" && reservedParam(GoParam(name)) {
			r.errorf(e.key, "%s: name %q is reserved in the generated code", kind, name)
		}
		what := kind + " " + name
		f := r.fields(e.val, what, keys...)
		c := &Column{
			Name: name, Go: GoName(name), Param: GoParam(name), Pos: at(e.key),
			Doc: r.text(f["doc"], what+": doc"), Optional: r.boolean(f["optional"], what+": optional"),
		}
		if f["type"] != nil {
			c.typeRef, c.typePos = r.text(f["type"], what+": type"), at(f["type"])
		}
		if f["keep"] != nil {
			c.keepRef, c.keepPos = r.text(f["keep"], what+": keep"), at(f["keep"])
		}
		names.take(c.Pos, kind, name, c.Go)
		params.take(c.Pos, kind, name, c.Param)
		cols = append(cols, c)
	}
	if n != nil && n.Kind == yaml.MappingNode && len(cols) == 0 {
		r.errorf(n, "%ss: expected at least one", kind)
	}
	return cols
}

func (t *Table) readRules(r *reader, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.errorf(n, "rules: expected a list of rules, found %s", describe(n))
		return
	}
	for _, rn := range n.Content {
		f := r.fields(rn, "rule", "when!", "then!", "why")
		rule := &Rule{Pos: at(rn), Why: r.text(f["why"], "rule: why"), when: map[string][]valueRef{}}
		for _, e := range r.mapping(f["when"], "when") {
			for _, v := range r.list(e.val, "when "+e.key.Value) {
				rule.when[e.key.Value] = append(rule.when[e.key.Value], valueRef{v.Value, at(v)})
			}
			t.checkColumn(r, t.Inputs, "input", e.key)
		}
		rule.then = t.readThen(r, "then", f["then"])
		t.Rules = append(t.Rules, rule)
	}
}

func (t *Table) checkColumn(r *reader, cols []*Column, kind string, key *yaml.Node) {
	var names []string
	for _, c := range cols {
		if c.Name == key.Value {
			return
		}
		names = append(names, c.Name)
	}
	r.errorf(key, "rule: unknown %s %s; expected one of %s", kind, key.Value, strings.Join(names, ", "))
}

func (t *Table) readThen(r *reader, what string, n *yaml.Node) map[string]valueRef {
	out := map[string]valueRef{}
	for _, e := range r.mapping(n, what) {
		t.checkColumn(r, t.Outputs, "output", e.key)
		if e.val.Kind != yaml.ScalarNode {
			r.errorf(e.val, "%s %s: expected one value, found %s", what, e.key.Value, describe(e.val))
			continue
		}
		out[e.key.Value] = valueRef{e.val.Value, at(e.val)}
	}
	return out
}

// valueName allows the spelling of states and that of events.
var valueName = regexp.MustCompile(upperName.String() + "|" + lowerName.String())
