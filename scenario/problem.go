// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Pos is a place in a scenario file; lines and columns count from 1.
type Pos struct{ Line, Column int }

func posOf(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

// Problem is one mistake in a scenario file.
type Problem struct {
	File string
	Pos  Pos
	Text string
}

// Error returns "file:line:column: text".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Pos.Line, p.Pos.Column, p.Text)
}

// Problems are all mistakes of a file, in the order of their places. It is the
// error of Load and Parse.
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
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return p
}

// syntax turns an error of the YAML parser into a problem; it names the line itself.
func syntax(file string, err error) Problems {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	pos := Pos{1, 1}
	if _, serr := fmt.Sscanf(text, "line %d:", &pos.Line); serr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return Problems{{file, pos, text}}
}

// ErrNotScenario is matched by errors of files that are no YAML mapping at all.
var ErrNotScenario = errors.New("scenario: not a scenario")
