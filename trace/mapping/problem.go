// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one mistake in a mapping file; lines and columns count from 1.
type Problem struct {
	File         string
	Line, Column int
	Text         string
}

// Error returns "file:line:column: text".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Problems are all mistakes of a file, in the order of their places. It is the
// error of Parse.
type Problems []Problem

// Error returns one line a mistake.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return p
}

// syntax turns an error of the YAML parser into a problem; it names the line itself.
func syntax(file string, err error) Problems {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if _, serr := fmt.Sscanf(text, "line %d:", &line); serr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return Problems{{file, line, 1, text}}
}

func (l *loader) problem(n *yaml.Node, format string, args ...any) {
	l.problems = append(l.problems, Problem{l.file, n.Line, n.Column, fmt.Sprintf(format, args...)})
}
