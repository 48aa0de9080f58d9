// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/internal/yamlfile"
)

// loader reads nodes and collects every mistake.
type loader struct {
	file     string
	problems Problems
}

func (l *loader) problem(n *yaml.Node, format string, args ...any) {
	l.problems = append(l.problems, Problem{File: l.file, Pos: yamlfile.PosOf(n), Text: fmt.Sprintf(format, args...)})
}

// field is one entry of a mapping.
type field struct{ key, value *yaml.Node }

// fields returns the entries of a mapping in order. Keys that are not text,
// come twice, or are aliases or merges are mistakes.
func (l *loader) fields(n *yaml.Node, what string) []field {
	if n.Kind != yaml.MappingNode {
		l.problem(n, "%s must be a mapping, this is %s", what, describe(n))
		return nil
	}
	var out []field
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge":
			l.problem(k, "a key must be plain text, this is %s", describe(k))
		case seen[k.Value]:
			l.problem(k, "key %q is given twice", k.Value)
		default:
			out = append(out, field{k, v})
		}
		seen[k.Value] = true
	}
	return out
}

// mapping reads the entries of a mapping by their keys: unknown and missing
// ones are mistakes.
func (l *loader) mapping(n *yaml.Node, what string, required []string, read map[string]func(*yaml.Node)) bool {
	before := len(l.problems)
	found := make(map[string]bool)
	for _, f := range l.fields(n, what) {
		fn := read[f.key.Value]
		if fn == nil {
			l.problem(f.key, "unknown key %q in %s; it takes %s", f.key.Value, what, list(read))
			continue
		}
		found[f.key.Value] = true
		fn(f.value)
	}
	if n.Kind == yaml.MappingNode {
		for _, k := range required {
			if !found[k] {
				l.problem(n, "%s needs the key %q", what, k)
			}
		}
	}
	return len(l.problems) == before
}

func list[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

// text reads a scalar as it is written: 7 and "7" are the same.
func (l *loader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		l.problem(n, "%s must be a name, this is %s", what, describe(n))
		return ""
	}
	if n.Value == "" {
		l.problem(n, "%s is empty", what)
	}
	return n.Value
}

// texts reads a list of scalars.
func (l *loader) texts(n *yaml.Node, what string) []string {
	if n.Kind != yaml.SequenceNode {
		l.problem(n, "%s must be a list, this is %s", what, describe(n))
		return nil
	}
	out := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		out = append(out, l.text(c, "an entry of "+what))
	}
	return out
}

func (l *loader) number(n *yaml.Node, what string) int {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil {
		l.problem(n, "%s must be a number, this is %s", what, describe(n))
	}
	return i
}

func (l *loader) truth(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		l.problem(n, "%s must be true or false, this is %s", what, describe(n))
	}
	return strings.EqualFold(n.Value, "true")
}

var endless = map[string]bool{
	"inf": true, "+inf": true, "-inf": true, ".inf": true, "+.inf": true, "-.inf": true, "nan": true, ".nan": true,
}

// duration reads a Go duration, 0, or something that is not finite: that loads
// and is refused by the step that uses it.
func (l *loader) duration(n *yaml.Node, what string) time.Duration {
	if n.Kind != yaml.ScalarNode {
		l.problem(n, "%s must be a duration such as 5s, this is %s", what, describe(n))
		return 0
	}
	if d, err := time.ParseDuration(n.Value); err == nil {
		return d
	}
	if endless[strings.ToLower(n.Value)] {
		return Endless
	}
	l.problem(n, "%s must be a duration such as 5s, this is %s", what, describe(n))
	return 0
}

// word reads one of a fixed set of words.
func word[T any](l *loader, n *yaml.Node, what string, words map[string]T) T {
	v, ok := words[n.Value]
	if n.Kind != yaml.ScalarNode || !ok {
		l.problem(n, "%s must be one of %s, this is %s", what, list(words), describe(n))
	}
	return v
}

// ref reads the name of a session or piece, with or without an attempt.
func (l *loader) ref(n *yaml.Node, what string) ref {
	text := l.text(n, what)
	id, attempt, given := strings.Cut(text, "@")
	if !given {
		return ref{id: text}
	}
	i, err := strconv.Atoi(attempt)
	if err != nil || id == "" {
		l.problem(n, "%s %q: want a name, or a name@attempt with a number", what, text)
	}
	return ref{id, i, true}
}

// refs reads one name or a list of them.
func (l *loader) refs(n *yaml.Node, what string) []ref {
	if n.Kind != yaml.SequenceNode {
		return []ref{l.ref(n, what)}
	}
	out := make([]ref, 0, len(n.Content))
	for _, c := range n.Content {
		out = append(out, l.ref(c, what))
	}
	return out
}

// describe says what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which scenarios do not have"
	}
	if n.Tag == "!!null" {
		return "empty"
	}
	return strconv.Quote(n.Value)
}

// oneLine returns a node in flow style, as a file would write it in one line.
func oneLine(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, oneLine(n.Content[i])+": "+oneLine(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		var parts []string
		for _, c := range n.Content {
			parts = append(parts, oneLine(c))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.Value
}

func itoa(i int) string { return strconv.Itoa(i) }
