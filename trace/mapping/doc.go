// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package mapping makes traces of another engine's logs. A mapping is a small YAML
// file: which lines of a plain log, or which moments of OpenTelemetry spans, mean
// that memory has an owner, was published to somebody, was finished with, answered
// for, given back or used again. Package trace then judges them as effects.
//
// docs/traces.md shows two examples; [Schema] is the JSON Schema of the files.
package mapping
