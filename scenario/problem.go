// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"

	"github.com/kvxfer/kvxfer/internal/yamlfile"
)

// Pos is a place in a scenario file; lines and columns count from 1.
type Pos = yamlfile.Pos

// Problem is one mistake in a scenario file; its Error is "file:line:column: text".
type Problem = yamlfile.Problem

// Problems are all mistakes of a file, in the order of their places. It is the
// error of Load and Parse.
type Problems = yamlfile.Problems

// ErrNotScenario is matched by errors of files that are no YAML mapping at all.
var ErrNotScenario = errors.New("scenario: not a scenario")
