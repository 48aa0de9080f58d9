// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader walks the nodes of one file. Its methods note a mistake and return a
// harmless value, so that reading goes on and finds the next mistake.
type reader struct {
	file string
	errs *Errors
}

// entry is one key of a mapping with its value.
type entry struct{ key, val *yaml.Node }

func at(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

func (r *reader) errorf(n *yaml.Node, format string, args ...any) {
	r.errs.Add(r.file, at(n), format, args...)
}

// plain refuses the parts of YAML that hide what a spec says: anchors, aliases,
// merge keys and tags; and nesting without end.
func (r *reader) plain(n *yaml.Node, depth int) bool {
	if depth > maxDepth {
		r.errorf(n, "nested more than %d levels deep", maxDepth)
		return false
	}
	ok := true
	if n.Anchor != "" {
		r.errorf(n, "anchor &%s; a spec says everything in place", n.Anchor)
		ok = false
	}
	if n.Kind == yaml.AliasNode {
		r.errorf(n, "alias *%s; a spec says everything in place", n.Value)
		return false
	}
	if n.Tag == "!!merge" {
		r.errorf(n, "merge key <<; a spec says everything in place")
		return false
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.errorf(n, "YAML tag %s; expected a plain value (quote a text that starts with !)", n.Tag)
		return false
	}
	for _, c := range n.Content {
		ok = r.plain(c, depth+1) && ok
	}
	return ok
}

// describe says what a node is, for "expected X, found Y".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		if len(n.Content) == 0 {
			return "an empty mapping"
		}
		return "a mapping"
	case yaml.SequenceNode:
		if len(n.Content) == 0 {
			return "an empty list"
		}
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" && n.Value == "" {
			return "nothing"
		}
		return strconv.Quote(n.Value)
	}
	return "something else"
}

// mapping returns the entries of n in order. Keys are scalars and differ.
func (r *reader) mapping(n *yaml.Node, what string) []entry {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.errorf(n, "%s: expected a mapping, found %s", what, describe(n))
		return nil
	}
	var out []entry
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			r.errorf(k, "%s: expected a name as key, found %s", what, describe(k))
			continue
		}
		if line, dup := seen[k.Value]; dup {
			r.errorf(k, "%s: key %q repeats line %d", what, k.Value, line)
			continue
		}
		seen[k.Value] = k.Line
		out = append(out, entry{k, v})
	}
	return out
}

// fields returns the values of a mapping with a fixed set of keys. Keys that end
// in ! are required.
func (r *reader) fields(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	var names []string
	for _, k := range known {
		names = append(names, strings.TrimSuffix(k, "!"))
	}
	for _, e := range r.mapping(n, what) {
		if !slices.Contains(names, e.key.Value) {
			r.errorf(e.key, "%s: unknown key %q; expected one of %s", what, e.key.Value, strings.Join(names, ", "))
			continue
		}
		out[e.key.Value] = e.val
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return out
	}
	for _, k := range known {
		if name, required := strings.CutSuffix(k, "!"); required && out[name] == nil {
			r.errorf(n, "%s: key %q is missing", what, name)
		}
	}
	return out
}

// text returns a scalar as text; empty if n is nil or no scalar.
func (r *reader) text(n *yaml.Node, what string) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" && n.Style == 0 && n.Value == "" {
		r.errorf(n, "%s: expected a text, found %s", what, describe(n))
		return ""
	}
	s := strings.Join(strings.Fields(n.Value), " ")
	for _, c := range s {
		if c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029' {
			r.errorf(n, "%s: control character %q; expected printable text", what, c)
			return ""
		}
	}
	return s
}

// integer returns a whole number within bounds; 0 if n is nil or no such number.
func (r *reader) integer(n *yaml.Node, what string, low, high int) int {
	if n == nil {
		return 0
	}
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < low || v > high {
		r.errorf(n, "%s: expected a number from %d to %d, found %s", what, low, high, describe(n))
		return 0
	}
	return v
}

// boolean returns true or false; false if n is nil.
func (r *reader) boolean(n *yaml.Node, what string) bool {
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Value != "true" && n.Value != "false" {
		r.errorf(n, "%s: expected true or false, found %s", what, describe(n))
	}
	return n.Value == "true"
}

// list returns the elements of a sequence, or a scalar as its only element.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		return []*yaml.Node{n}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return n.Content
	}
	r.errorf(n, "%s: expected a name or a list of names, found %s", what, describe(n))
	return nil
}

// Patterns of names.
var (
	lowerName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	upperName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	typeName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// maxName bounds names: they become Go identifiers and table columns.
const maxName = 40

// name checks a scalar against a pattern; ok says whether it is a good name.
func (r *reader) name(n *yaml.Node, what string, pattern *regexp.Regexp, example string) (s string, ok bool) {
	if n.Kind != yaml.ScalarNode {
		r.errorf(n, "%s: expected a name, found %s", what, describe(n))
		return "", false
	}
	if !pattern.MatchString(n.Value) {
		r.errorf(n, "%s: bad name %q; expected one like %s", what, n.Value, example)
		return n.Value, false
	}
	if len(n.Value) > maxName {
		r.errorf(n, "%s: name %q is longer than %d characters", what, n.Value, maxName)
		return n.Value, false
	}
	return n.Value, true
}
