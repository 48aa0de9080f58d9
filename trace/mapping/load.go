// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/gen/claim"
	"github.com/kvxfer/kvxfer/gen/outcome"
	"github.com/kvxfer/kvxfer/internal/yamlfile"
)

// loader collects mistakes, so that all are told at once.
type loader struct {
	file     string
	problems Problems
}

// Parse reads a mapping; path is for messages alone. Its mistakes are Problems.
func Parse(path string, data []byte) (*Mapping, error) {
	root, after, err := yamlfile.Document(path, data)
	if err != nil {
		return nil, err
	}
	l := &loader{file: path, problems: after}
	m := l.whole(root)
	if len(l.problems) > 0 {
		return nil, l.problems.Sorted()
	}
	return m, nil
}

func (l *loader) whole(n *yaml.Node) *Mapping {
	m := &Mapping{}
	var rules *yaml.Node
	l.keys(n, "a mapping", []string{"engine", "format", "rules"}, map[string]func(*yaml.Node){
		"engine": func(v *yaml.Node) { m.Engine = l.text(v) },
		"format": func(v *yaml.Node) {
			if m.Format = formats[l.text(v)]; m.Format == 0 {
				l.problem(v, "format is lines or otlp, not %q", v.Value)
			}
		},
		"rules": func(v *yaml.Node) { rules = v },
	})
	if rules == nil || m.Format == 0 {
		return m
	}
	if rules.Kind != yaml.SequenceNode || len(rules.Content) == 0 {
		l.problem(rules, "rules must be a list of rules")
		return m
	}
	for _, r := range rules.Content {
		m.Rules = append(m.Rules, l.rule(r, m.Format))
	}
	return m
}

func (l *loader) rule(n *yaml.Node, f Format) Rule {
	r := Rule{}
	var records *yaml.Node
	known := map[string]func(*yaml.Node){"records": func(v *yaml.Node) { records = v }}
	need := []string{"line"}
	if f == Lines {
		known["line"] = func(v *yaml.Node) { r.Line = l.expression(v) }
	} else {
		need = []string{"span", "on"}
		known["span"] = func(v *yaml.Node) { r.Span = l.expression(v) }
		known["on"] = func(v *yaml.Node) { r.On = l.text(v) }
		known["where"] = func(v *yaml.Node) { r.Where = l.where(v) }
	}
	l.keys(n, "a rule of format "+f.String(), need, known)
	if records == nil {
		return r
	}
	if records.Kind != yaml.SequenceNode {
		l.problem(records, "records must be a list")
		return r
	}
	for _, one := range records.Content {
		r.Records = append(r.Records, l.record(one, &r))
	}
	return r
}

func (l *loader) where(n *yaml.Node) map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	if n.Kind != yaml.MappingNode {
		l.problem(n, "where must be attributes with expressions")
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if re := l.expression(n.Content[i+1]); re != nil {
			out[n.Content[i].Value] = re
		}
	}
	return out
}

func (l *loader) record(n *yaml.Node, rule *Rule) Record {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		l.problem(n, "a record is one of %s, with its fields", strings.Join(slices.Sorted(maps.Keys(needs)), ", "))
		return Record{}
	}
	name, body := n.Content[0], n.Content[1]
	need, ok := needs[name.Value]
	if !ok {
		l.problem(name, "unknown record %q: want one of %s", name.Value, strings.Join(slices.Sorted(maps.Keys(needs)), ", "))
		return Record{}
	}
	r := Record{Effect: name.Value, Fields: map[string]string{}}
	known := map[string]func(*yaml.Node){}
	for field := range fields {
		known[field] = func(v *yaml.Node) { r.Fields[field] = l.template(v, field, rule) }
	}
	l.keys(body, "record "+name.Value, need, known)
	return r
}

// template reads a field's value. Groups that it names must exist; attributes of
// spans are known only to the log.
func (l *loader) template(n *yaml.Node, field string, rule *Rule) string {
	s := l.text(n)
	names := placeholder.FindAllStringSubmatch(s, -1)
	for _, m := range names {
		if rule.Line != nil && rule.Line.SubexpIndex(m[1]) < 0 {
			l.problem(n, "{%s} is no named group of the rule's line; write (?P<%s>...) there", m[1], m[1])
		}
	}
	if len(names) > 0 {
		return s
	}
	switch field {
	case "event":
		var e claim.Event
		if e.UnmarshalText([]byte(s)) != nil {
			l.problem(n, "unknown event %q of a claim: want one of %s", s, texts(claim.AllEvents()))
		}
	case "outcome":
		var o outcome.State
		if o.UnmarshalText([]byte(s)) != nil || !o.Terminal() {
			l.problem(n, "unknown outcome %q: want SUCCEEDED, FAILED or CANCELLED", s)
		}
	}
	return s
}

func texts[T interface{ String() string }](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

func (l *loader) expression(n *yaml.Node) *regexp.Regexp {
	re, err := regexp.Compile(l.text(n))
	if err != nil {
		l.problem(n, "%v", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return re
}

func (l *loader) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		l.problem(n, "must be a text that is not empty")
	}
	return n.Value
}

// keys reads a YAML mapping: each key known, each once, the needed ones there.
func (l *loader) keys(n *yaml.Node, what string, need []string, known map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		l.problem(n, "%s must be fields with values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case read == nil:
			l.problem(key, "%s has no field %q: want one of %s", what, key.Value, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case seen[key.Value]:
			l.problem(key, "%q is there twice", key.Value)
		default:
			seen[key.Value] = true
			read(value)
		}
	}
	for _, name := range need {
		if !seen[name] {
			l.problem(n, "%s needs %q", what, name)
		}
	}
}
