// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/kvxfer/kvxfer/internal/yamlfile"
)

// Problem is one mistake in a mapping file; its Error is "file:line:column: text".
type Problem = yamlfile.Problem

// Problems are all mistakes of a file, in the order of their places. It is the
// error of Parse.
type Problems = yamlfile.Problems

func (l *loader) problem(n *yaml.Node, format string, args ...any) {
	l.problems = append(l.problems, Problem{File: l.file, Pos: yamlfile.PosOf(n), Text: fmt.Sprintf(format, args...)})
}
