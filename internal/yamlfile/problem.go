// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package yamlfile is what readers of small YAML files share: the one document of
// a file, and mistakes that are told all at once, with their places.
package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Pos is a place in a file; lines and columns count from 1.
type Pos struct{ Line, Column int }

// PosOf is where a node begins.
func PosOf(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

// Problem is one mistake in a file.
type Problem struct {
	File string
	Pos  Pos
	Text string
}

// Error returns "file:line:column: text".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Pos.Line, p.Pos.Column, p.Text)
}

// Problems are all mistakes of a file.
type Problems []Problem

// Error returns one line a mistake.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Sorted puts the mistakes into the order of their places, and returns them.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return p
}

// syntax turns an error of the YAML parser into a problem; it names the line itself.
func syntax(file string, err error) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	pos := Pos{1, 1}
	if _, serr := fmt.Sscanf(text, "line %d:", &pos.Line); serr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return Problem{file, pos, text}
}
